// The events of one job as they happen, and the output of its tasks if asked for, as server-sent events:
//
//   accepted {"job":"j12","repeated":false}   only on a stream that began with a submit
//   job      JobView                          at most ten a second, and a last one
//   task     TaskView                         each task that ended neither ok nor cancelled (first 100)
//   output   {"task":7,"attempt":1,"stream":"stdout","offset":0,"data":...}
//   done     JobView                          the job ended and everything above was sent; the last event
//
// A client that does not read is waited for; events coalesce meanwhile. Loop's thread; keeps itself alive
// until the client is gone or the job has ended.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/loop.h"
#include "control/service.h"
#include "net/http_exchange.h"
#include "server/output_source.h"

namespace muster::server {

struct JobStreamOptions {
  enum class Output : uint8_t {
    kNone,
    kLeaves,  // of tasks that no other needs, each whole when it has ended
    kAll,     // of every task, each whole when it has ended
    kLive,    // of a job of one task: as it is written
  };
  Output output = Output::kNone;
};

class JobStream : public std::enable_shared_from_this<JobStream> {
 public:
  JobStream(Loop& loop, control::Service& service, OutputSource& source,
            std::shared_ptr<HttpExchange> exchange, JobStreamOptions options);
  ~JobStream();

  // Starts the answer. `accepted`: the JSON of the first event, or empty.
  void Begin(JobId job, const std::string& accepted);

 private:
  struct Pending {  // a range of ended tasks whose output is to be sent
    uint32_t next = 0;
    uint32_t end = 0;
  };
  void OnEvent(const control::JobEvent& event);
  void AddEnded();
  void AddDone(uint32_t first, uint32_t count);
  void Pump();
  void SendJob();
  void SendFailures(uint32_t first, uint32_t count);
  bool WantsOutputOf(uint32_t task);
  // Starts reading the next piece of output; false if there is none at present.
  bool StartReading();
  void ReadPiece();
  void OnPiece(Result<OutputChunk> chunk);
  void FinishIfDone();
  void Schedule(Duration delay);

  Loop& loop_;
  control::Service& service_;
  OutputSource& source_;
  std::shared_ptr<HttpExchange> exchange_;
  const JobStreamOptions options_;
  JobId job_;
  std::shared_ptr<const JobSpec> spec_;
  std::vector<bool> leaf_;           // by TaskSpec
  std::vector<uint32_t> first_of_;   // by TaskSpec
  control::Service::WatchId watch_ = 0;
  bool job_dirty_ = true;
  bool timer_set_ = false;
  int64_t last_job_us_ = 0;
  uint32_t failures_sent_ = 0;
  std::deque<Pending> pending_;
  // The piece being read.
  bool reading_ = false;
  bool waiting_ = false;
  bool live_ = false;                // follows a task that still runs
  std::optional<control::OutputPlace> place_;
  int stream_ = 0;
  uint64_t offsets_[3] = {0, 0, 0};
  bool finished_ = false;
};

}  // namespace muster::server
