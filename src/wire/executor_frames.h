// The executor protocol (api/proto/executor.proto) to and from our nouns. Pure; every class is used
// by one thread.
//
//     FrameParser<pb::FromExecutor> parser;                 // one per connection, reuses its
//     memory ASSIGN_OR_RETURN(const pb::FromExecutor* frame, parser.Parse(bytes)); for (const
//     pb::Ended& ended : frame->ended()) {
//       ASSIGN_OR_RETURN(AttemptSend who, FromRef(ended.attempt()));
//       ASSIGN_OR_RETURN(ExitFacts facts, FromEnded(ended));
//     }
// The hash of what is held is model/held_hash.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/exit_facts.h"
#include "model/held_hash.h"  // IWYU pragma: export
#include "model/job_spec.h"
#include "wire/executor.pb.h"

namespace muster {

namespace pb = ::muster::executor::v1;

// The largest message either side takes or makes; a sender with more splits it.
inline constexpr size_t kMaxFrameBytes = 32 << 20;
inline constexpr uint32_t kExecutorProtocol = 1;

// One hand-over of an attempt to an executor.
struct AttemptSend {
  AttemptId id;
  uint32_t send = 0;
  friend auto operator<=>(const AttemptSend&, const AttemptSend&) = default;
};

void ToRef(AttemptId id, uint32_t send, pb::AttemptRef* ref);
// Numbers count from 1: a 0 among job, task and n is an error.
Result<AttemptSend> FromRef(const pb::AttemptRef& ref);

// `pid` 0: not known.
void ToEnded(AttemptId id, uint32_t send, const ExitFacts& facts, int64_t pid, pb::Ended* ended);
// Times below zero and words that are not known are errors.
Result<ExitFacts> FromEnded(const pb::Ended& ended);

void ToCapacity(const Resources& resources, uint32_t max_attempts, pb::Capacity* capacity);
// Without max_attempts, which has no place in Resources. Sorted by name, as Resources wants it.
Resources FromCapacity(const pb::Capacity& capacity);

pb::Ended::Cause ToCause(StopCause cause);
Result<StopCause> FromCause(pb::Ended::Cause cause);

void ToTemplateCommand(const Command& command, pb::Template* into);
Result<Command> FromTemplateCommand(const pb::Template& from);

// Parses message after message into the same object, so that a connection in its stride allocates
// almost nothing. T is FromExecutor or FromController.
template <typename T>
class FrameParser {
 public:
  // The message is valid until the next call. Errors: too large, not a message.
  Result<const T*> Parse(std::string_view bytes);

 private:
  std::unique_ptr<T> message_;
  bool large_ = false;
};

// Appends to `out`; kResourceExhausted, and nothing appended, above kMaxFrameBytes.
Status AppendFrame(const pb::FromExecutor& frame, std::string& out);
Status AppendFrame(const pb::FromController& frame, std::string& out);

}  // namespace muster
