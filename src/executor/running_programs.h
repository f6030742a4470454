// The hands of the executor: runs what ExecutorMachine orders, keeps output, record, {out} and
// scratch. Decides nothing. Loop's thread only.
//
// Blocks for file calls on the way (mkdir, rename, write); removing folders is left to a pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "executor/attempt_record.h"
#include "executor/executor_machine.h"
#include "executor/output_place.h"
#include "executor/program_builder.h"
#include "executor/scratch_folders.h"
#include "process/segment_writer.h"
#include "process/task_runner.h"

namespace muster::executor {

class RunningPrograms {
 public:
  struct Settings {
    ExecutorId executor;
    std::string store_id;
    std::string output_dir;
    std::string record_path;
    std::string scratch_dir;
    std::vector<std::pair<std::string, std::string>> added_env;
  };
  struct Events {
    std::function<void(AttemptId, int64_t pid, WallTime started)> on_started;
    std::function<void(AttemptId, const ExitFacts& facts, int64_t pid)> on_ended;
  };

  static Result<std::unique_ptr<RunningPrograms>> Make(Loop& loop, Spawner spawner,
                                                       Settings settings, Events events);
  RunningPrograms(const RunningPrograms&) = delete;

  // Puts all starts down in the record with one write, then starts them. A start that fails at once
  // is reported from within.
  void Start(std::span<const StartAttempt> starts, std::span<const uint32_t> sends);
  void Stop(const StopRunning& stop);
  FileFailure Publish(const PublishOutput& order);
  FileFailure Publish(const PublishFound& order);
  void Discard(const DiscardOutput& order);

  // Before an end is reported: its output and its record are handed to the operating system.
  void Settle();
  // Keeps the record small; `live` gives what must stay in it.
  void ShrinkRecord(const std::function<std::vector<RecordedAttempt>()>& live);
  // False: nothing can be started any more.
  bool alive() const { return runner_.alive(); }

 private:
  struct Running {
    AttemptId attempt;
    uint32_t send = 0;
    size_t scratch = 0;
    int64_t pid = 0;
    uint64_t output_bytes = 0;
  };

  RunningPrograms(Loop& loop, Spawner spawner, Settings settings, Events events,
                  SegmentWriter writer, AttemptRecord record);
  TaskRunner::Events RunnerEvents();
  void StartOne(const StartAttempt& start, uint32_t send);
  void OnOutput(uint64_t token, OutputStream stream, std::string_view bytes);
  void OnEnded(uint64_t token, ExitFacts facts);
  void Append(Running& running, OutputStream stream, std::string_view bytes);
  void FlushOutput();
  FileFailure Move(const OutputPlace& place);

  Loop& loop_;
  const Settings settings_;
  const Events events_;
  WorkerPool cleaners_;
  ScratchFolders scratch_;
  ProgramBuilder builder_;
  SegmentWriter writer_;
  AttemptRecord record_;
  uint64_t record_floor_ = 0;  // its size after the last shrinking
  bool flush_planned_ = false;
  bool output_failing_ = false;
  bool record_failing_ = false;
  uint64_t last_token_ = 0;
  std::unordered_map<uint64_t, Running> running_;
  std::unordered_map<AttemptId, uint64_t> tokens_;
  // Last: its end ends all programs, which still have output.
  TaskRunner runner_;
};

}  // namespace muster::executor
