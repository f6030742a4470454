// Runs programs in slots and reports what became of them. A slot is a small process of its own
// (slot_process.h) with two pipes that last as long as it does; it is opened when it is first
// needed and used again. Each program gets a session and process group of its own, default signals,
// /dev/null as standard input, and no descriptor but its three.
//
//     TaskRunner runner(loop, std::move(spawner), {.on_started = ..., .on_output = ..., .on_ended =
//     ...}); RETURN_IF_ERROR(runner.Start(7, {{"/bin/echo", "hi"}, {"PATH=/bin"}, "/tmp"}));
//     ...
//     runner.Stop(7, StopCause::kTimeLimit, 5s);   // SIGTERM to the whole tree, SIGKILL 5 s later
//
// When on_ended is called, nothing the program has started is left: what was still there has been
// killed. A process that may not be killed (set-user-id programs) or cannot die (uninterruptible)
// holds its slot, and on_ended back, until it is gone.
//
// ExitFacts: wall and CPU time are those of the first process and of what it waited for. max_rss is
// the kernel's ru_maxrss, which for a child of vfork never reads less than the slot process's own
// size (1 to 2 MiB in a release build; sanitizers make it some 10 MiB). stop_cause is set only if a
// stop reached the program before its end. output_dropped is left 0: whoever keeps the output
// knows.
//
// Thread: everything on the loop's thread. Destruction stops what still runs without further
// events, and waits until all processes are gone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/exit_facts.h"
#include "process/output_stream.h"
#include "process/spawner.h"

namespace muster {

class TaskRunner {
 public:
  struct Program {
    std::vector<std::string> argv;  // argv[0] is searched in the PATH of `env` if it has no '/'
    std::vector<std::string> env;   // all of it: "NAME=value"
    std::string cwd;                // empty: where the executor was started
  };
  // Handlers may call Start and Stop, but not destroy the runner.
  struct Events {
    // Once for each program that could be started, before on_ended; output may come before it. Up
    // to a millisecond late, because a program that ends sooner is reported once with its end.
    std::function<void(uint64_t token, pid_t pid, WallTime started)> on_started;
    std::function<void(uint64_t token, OutputStream stream, std::string_view bytes)> on_output;
    // Once for each successful Start, after the last on_output. The token is free again.
    std::function<void(uint64_t token, const ExitFacts& facts)> on_ended;
  };

  TaskRunner(Loop& loop, Spawner spawner, Events events);
  ~TaskRunner();
  TaskRunner(const TaskRunner&) = delete;

  // Takes the program over; that it could not be started comes as on_ended (kNotStarted). An error
  // means that there will be no event: token in use, NUL in a string or no argv (kInvalidArgument),
  // no descriptors left (kResourceExhausted), spawner gone (kUnavailable, for good).
  Status Start(uint64_t token, const Program& program);
  // SIGTERM to every process of the tree, and SIGKILL after `grace`; 0 kills at once. Repeating it
  // can only shorten the grace; the first cause stays. Unknown tokens are ignored.
  void Stop(uint64_t token, StopCause cause, Duration grace);
  void StopAll(StopCause cause, Duration grace);

  size_t running() const { return running_.size(); }
  // Slot processes that exist now.
  size_t slots() const { return slots_.size(); }
  // False once the spawner was killed: nothing can be started any more, the executor should leave.
  bool alive() const { return spawner_.alive(); }

 private:
  struct Slot;

  Result<Slot*> TakeSlot();
  Result<std::vector<int>> GivePipes(Slot& slot, std::vector<UniqueFd>& write_ends);
  Status SendStart(Slot& slot, const Program& program);
  void WatchPipes(Slot& slot);
  void OnSlotReadable(Slot& slot);
  // False if nothing more is there now.
  bool ReceiveReport(Slot& slot);
  void OnReport(Slot& slot, const SlotReport& report, std::string_view what_failed);
  void OnSlotHungUp(Slot& slot);
  void OnSpawnerReadable();
  void OnSlotGone(const ZygoteReport& report);
  // Reads once, or until nothing is there.
  bool ReadPipe(Slot& slot, OutputStream stream);
  void DrainPipes(Slot& slot);
  void ClosePipes(Slot& slot);
  void CloseSocket(Slot& slot);
  void EndLost(Slot& slot, ExitFacts facts);
  Slot* FindSlot(uint32_t number);

  Loop& loop_;
  Spawner spawner_;
  const Events events_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::unordered_map<uint64_t, Slot*> running_;
  uint32_t last_slot_ = 0;
  uint64_t last_run_ = 0;
  std::string text_;            // reused
  std::vector<char> received_;  // reused
  std::vector<char> output_;    // reused
};

}  // namespace muster
