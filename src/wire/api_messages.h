// The small messages of the API that are no view: what a submit and a cancel answer, what a cancel asks,
// and the events of a job's stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/id_text.h"  // IWYU pragma: export

namespace muster {

// {"job":"j12","repeated":false}
struct SubmitMessage {
  JobId job;
  bool repeated = false;
  friend bool operator==(const SubmitMessage&, const SubmitMessage&) = default;
};
std::string ToJson(const SubmitMessage& message);
Result<SubmitMessage> SubmitMessageFromJson(std::string_view json);

// {"tasks":[[1,20],[30,30]],"abandon":false}; no tasks: the whole job.
struct CancelRequestMessage {
  std::vector<std::pair<uint32_t, uint32_t>> tasks;
  bool abandon = false;
  friend bool operator==(const CancelRequestMessage&, const CancelRequestMessage&) = default;
};
std::string ToJson(const CancelRequestMessage& message);
Result<CancelRequestMessage> CancelRequestMessageFromJson(std::string_view json);

// {"ended":980,"stopping":20}
struct CancelMessage {
  uint64_t ended = 0;
  uint64_t stopping = 0;
  friend bool operator==(const CancelMessage&, const CancelMessage&) = default;
};
std::string ToJson(const CancelMessage& message);
Result<CancelMessage> CancelMessageFromJson(std::string_view json);

// {"task":7,"attempt":1,"stream":"stdout","offset":0,"data":"text"}; data that is not UTF-8 is
// {"base64":"..."}.
struct OutputEvent {
  uint32_t task = 0;
  uint32_t attempt = 1;
  std::string stream;
  uint64_t offset = 0;
  std::string data;
  friend bool operator==(const OutputEvent&, const OutputEvent&) = default;
};
std::string ToJson(const OutputEvent& event);
Result<OutputEvent> OutputEventFromJson(std::string_view json);

// One launch in a list.
struct LaunchMessage {
  LaunchId id;
  std::string cluster;
  ExecutorId executor;
  std::string state;
  std::string external_id;
  std::string reason;
};
std::string LaunchesToJson(const std::vector<LaunchMessage>& launches);

}  // namespace muster
