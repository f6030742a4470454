#include "executor/executor.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/log.h"
#include "base/random.h"
#include "executor/controller_link.h"
#include "executor/running_programs.h"
#include "net/event_loop.h"
#include "process/process_identity.h"
#include "process/spawner.h"
#include "wire/executor_frames.h"

namespace muster::executor {
namespace {

// Descriptors of a slot, with room for one that is being replaced; and those of everything else.
constexpr uint64_t kDescriptorsForSlot = 4;
constexpr uint64_t kDescriptorsForUs = 64;

uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  rlimit raised = limit;
  raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 20);
  if (raised.rlim_cur > limit.rlim_cur && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur;
}

// As many slots as there are descriptors for.
uint32_t LimitSlots(uint32_t wanted, MilliCpu cpus) {
  uint64_t descriptors = RaiseDescriptorLimit();
  uint64_t slots = descriptors > kDescriptorsForUs + kDescriptorsForSlot
                       ? (descriptors - kDescriptorsForUs) / kDescriptorsForSlot
                       : 1;
  uint64_t needed = wanted != 0 ? wanted : cpus.value / 1000;
  if (needed > slots) {
    LogWarning(
        "only {} attempts run at once, not {}: the limit of {} open files allows no more; "
        "raise it (ulimit -n) for the controller",
        slots, needed, descriptors);
  }
  if (wanted != 0 && wanted <= slots) return wanted;
  return static_cast<uint32_t>(std::min<uint64_t>(slots, UINT32_MAX));
}

Result<ExecutorIdentity> MakeIdentity(const ExecutorOptions& options, Random& random) {
  ExecutorIdentity identity;
  identity.version = options.version;
  identity.executor = options.launch.executor;
  identity.launch = options.launch.id;
  identity.store_id = options.launch.owner.store_id;
  identity.incarnation = MakeUuid(random);
  ASSIGN_OR_RETURN(ProcessIdentity process, IdentityOf(::getpid()));
  identity.boot_id = process.boot_id;
  identity.pid = process.pid;
  identity.pid_start_time = process.start_ticks;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  identity.host = host;
  identity.capacity = options.launch.size;
  identity.max_attempts = LimitSlots(options.launch.max_attempts, options.launch.size.cpus);
  identity.labels = options.launch.labels;
  identity.output_dir = options.output_dir;
  if (options.take_token) {
    ASSIGN_OR_RETURN(identity.token, options.take_token());
  }
  return identity;
}

class ExecutorProcess {
 public:
  ExecutorProcess(const ExecutorOptions& options, ExecutorIdentity identity, Random random)
      : options_(options),
        machine_(std::move(identity), options.contact, loop_.ReadClock()),
        link_(loop_, options.controller, options.target, random,
              {.on_connected = [this] { machine_.OnConnected(loop_.ReadClock()); },
               .on_message = [this](std::string_view message) { OnMessage(message); },
               .on_disconnected = [this] { machine_.OnDisconnected(loop_.ReadClock()); }}) {}

  Status Start(Spawner spawner);
  void Run() { loop_.Run(); }

 private:
  void OnMessage(std::string_view message);
  void OnSignal(int signal);
  void OnPassEnd();
  void CarryOut();
  void CarryOut(Action& action);
  template <typename Order>
  void CarryOutPublish(const Order& order);
  void StartAll();
  bool SendOne();
  void SetWake();
  std::vector<RecordedAttempt> Live() const;

  const ExecutorOptions& options_;
  EventLoop loop_;
  ExecutorMachine machine_;
  std::unique_ptr<RunningPrograms> programs_;
  ControllerLink link_;
  FrameParser<v1::FromController> parser_;
  v1::FromExecutor batch_;  // reused
  std::string frame_;       // reused
  std::vector<StartAttempt> starts_;
  std::vector<uint32_t> sends_;
  std::optional<BootTime> wake_at_;
  Loop::TimerId wake_ = 0;
  bool asked_to_leave_ = false;
};

Status ExecutorProcess::Start(Spawner spawner) {
  RunningPrograms::Settings settings;
  settings.executor = options_.launch.executor;
  settings.store_id = options_.launch.owner.store_id;
  settings.output_dir = options_.output_dir;
  settings.record_path = options_.record_path;
  settings.scratch_dir = options_.scratch_dir;
  settings.added_env = options_.added_env;
  RunningPrograms::Events events;
  events.on_started = [this](AttemptId id, int64_t pid, WallTime started) {
    machine_.OnProgramStarted(id, pid, started, loop_.ReadClock());
  };
  events.on_ended = [this](AttemptId id, const ExitFacts& facts, int64_t pid) {
    machine_.OnProgramEnded(id, facts, pid, loop_.ReadClock());
  };
  ASSIGN_OR_RETURN(programs_, RunningPrograms::Make(loop_, std::move(spawner), std::move(settings),
                                                    std::move(events)));
  loop_.WatchSignals({SIGTERM, SIGINT}, [this](int signal) { OnSignal(signal); });
  loop_.OnPassEnd([this] { OnPassEnd(); });
  link_.Dial();
  return Status::Ok();
}

void ExecutorProcess::OnMessage(std::string_view message) {
  auto parsed = parser_.Parse(message);
  Now now = loop_.ReadClock();
  if (!parsed.ok()) {
    link_.Cut("a message that cannot be read: " + parsed.error().ToString());
    return machine_.OnDisconnected(now);
  }
  bool was_in_contact = machine_.in_contact();
  machine_.OnMessage(**parsed, now);
  if (!was_in_contact && machine_.in_contact()) {
    link_.NoteWelcome();
    LogInfo("welcomed by epoch {}", machine_.highest_epoch());
  }
}

void ExecutorProcess::OnSignal(int signal) {
  Duration grace = asked_to_leave_ ? Duration{0} : options_.drain_grace;
  asked_to_leave_ = true;
  LogInfo("leaving on signal {}: what runs has {}", signal, Render(grace));
  machine_.OnAskedToLeave(grace, fmt::format("signal {}", signal), loop_.ReadClock());
}

void ExecutorProcess::OnPassEnd() {
  CarryOut();
  // The spawner was killed: what ran is lost, and nothing can be started.
  if (!programs_->alive() && !machine_.leaving()) {
    LogError("the spawner process is gone: this executor leaves");
    machine_.OnAskedToLeave(Duration{0}, "its spawner was killed", loop_.ReadClock());
    CarryOut();
  }
  while (link_.can_send() && SendOne()) {
  }
  CarryOut();
  programs_->ShrinkRecord([this] { return Live(); });
  SetWake();
}

void ExecutorProcess::CarryOut() {
  for (std::vector<Action> actions = machine_.TakeActions(); !actions.empty();
       actions = machine_.TakeActions()) {
    for (Action& action : actions) CarryOut(action);
    StartAll();
  }
}

void ExecutorProcess::CarryOut(Action& action) {
  if (auto* start = std::get_if<StartAttempt>(&action)) {
    sends_.push_back(machine_.attempts().all().at(start->attempt).send);
    starts_.push_back(std::move(*start));
    return;
  }
  StartAll();  // keeps the order
  if (auto* stop = std::get_if<StopRunning>(&action)) {
    programs_->Stop(*stop);
  } else if (auto* order = std::get_if<PublishOutput>(&action)) {
    CarryOutPublish(*order);
  } else if (auto* found = std::get_if<PublishFound>(&action)) {
    CarryOutPublish(*found);
  } else if (auto* discard = std::get_if<DiscardOutput>(&action)) {
    programs_->Discard(*discard);
  } else if (auto* cut = std::get_if<CutConnection>(&action)) {
    link_.Cut(cut->why);
  } else if (auto* leave = std::get_if<Leave>(&action)) {
    LogInfo("leaving: {}", leave->why);
    programs_->Settle();
    link_.Close("left", [this] { loop_.Stop(); });
  }
}

template <typename Order>
void ExecutorProcess::CarryOutPublish(const Order& order) {
  FileFailure failure = programs_->Publish(order);
  Now now = loop_.ReadClock();
  if (failure.ok()) return machine_.OnPublished(order.attempt, order.send, now);
  machine_.OnPublishFailed(order.attempt, order.send, failure.error_number,
                           std::move(failure.what_failed), now);
}

void ExecutorProcess::StartAll() {
  if (starts_.empty()) return;
  std::vector<StartAttempt> starts;
  std::vector<uint32_t> sends;
  starts.swap(starts_);
  sends.swap(sends_);
  programs_->Start(starts, sends);
  starts.clear();
  sends.clear();
  if (starts_.empty()) {  // their memory is used again
    starts_.swap(starts);
    sends_.swap(sends);
  }
}

bool ExecutorProcess::SendOne() {
  if (!machine_.TakeMessage(loop_.ReadClock(), batch_)) return false;
  // Whoever sees an end can read all of its output.
  if (batch_.ended_size() > 0 || batch_.has_hello()) programs_->Settle();
  frame_.clear();
  Status appended = AppendFrame(batch_, frame_);
  if (!appended.ok()) {
    link_.Cut(appended.error().ToString());
    machine_.OnDisconnected(loop_.ReadClock());
    return false;
  }
  link_.Send(frame_);
  return true;
}

void ExecutorProcess::SetWake() {
  std::optional<BootTime> next = machine_.NextWake();
  // One that comes too early does no harm.
  if (!next || (wake_at_ && *wake_at_ <= *next)) return;
  if (wake_at_) loop_.CancelTimer(wake_);
  wake_at_ = next;
  Duration delay = std::max(*next - loop_.ReadClock().boot, Duration{0});
  wake_ = loop_.RunAfter(delay, [this] {
    wake_at_.reset();
    machine_.OnTime(loop_.ReadClock());
  });
}

std::vector<RecordedAttempt> ExecutorProcess::Live() const {
  std::vector<RecordedAttempt> live;
  for (const auto& [id, held] : machine_.attempts().all()) {
    if (held.phase == Phase::kWaiting || held.phase == Phase::kAcknowledged) continue;
    live.push_back(
        {id, held.send, held.started, held.phase == Phase::kFinished, held.pid, held.facts});
  }
  return live;
}

Status RunToTheEnd(const ExecutorOptions& options) {
  ASSIGN_OR_RETURN(Spawner spawner, Spawner::Fork());
  ::prctl(PR_SET_DUMPABLE, 0);
  spawner.AdoptOrphans();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  Random random = Random::FromSystem();
  ASSIGN_OR_RETURN(ExecutorIdentity identity, MakeIdentity(options, random));
  LogInfo("executor {} of launch {}, process {}: {} cpus, up to {} attempts",
          Render(identity.executor), Render(identity.launch), identity.pid,
          Render(identity.capacity.cpus), identity.max_attempts);
  {
    ExecutorProcess process(options, std::move(identity), random);
    RETURN_IF_ERROR(process.Start(std::move(spawner)));
    process.Run();
  }
  std::error_code ignored;
  std::filesystem::remove_all(options.scratch_dir, ignored);
  return Status::Ok();
}

}  // namespace

int RunExecutor(const ExecutorOptions& options) {
  Status status = RunToTheEnd(options);
  if (status.ok()) return 0;
  LogError("{}: {}", Render(options.launch.executor), status.error().ToString());
  return 1;
}

}  // namespace muster::executor
