#include "backends/local/local_backend.h"

#include <errno.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "backends/local/executor_log.h"
#include "backends/local/keeper.h"
#include "backends/local/launch_lock.h"

namespace muster::local {
namespace {

// Room that a launch's own files and some log need.
constexpr uint64_t kLeastFreeBytes = 1 << 20;

class WatchHandle final : public LaunchWatch {
 public:
  explicit WatchHandle(std::shared_ptr<LaunchWatcher> watcher) : watcher_(std::move(watcher)) {}
  ~WatchHandle() override { watcher_->Stop(); }

 private:
  std::shared_ptr<LaunchWatcher> watcher_;
};

Duration TimeLeft(const CallContext& call) {
  return std::max(call.deadline - SystemClock().Read().boot, Duration{0});
}

Status CheckTime(const CallContext& call, std::string_view what) {
  if (call.stop.stop_requested()) {
    return ClusterError(ErrorCode::kCancelled, fmt::format("{}: the call was stopped", what));
  }
  if (TimeLeft(call) == Duration{0}) {
    return ClusterError(ErrorCode::kDeadlineExceeded, fmt::format("{}: no time left", what));
  }
  return Status::Ok();
}

// The closest folder on the way up that is there.
std::filesystem::path ExistingPartOf(std::filesystem::path path) {
  std::error_code error;
  while (path.has_relative_path() && !std::filesystem::exists(path, error))
    path = path.parent_path();
  return path;
}

std::string KernelVersion() {
  struct utsname system{};
  if (::uname(&system) != 0) return "";
  return fmt::format("{} {}", system.sysname, system.release);
}

}  // namespace

LocalBackend::LocalBackend(LaunchEnvironment environment, MachineSize here)
    : environment_(std::move(environment)),
      here_(here),
      launches_(std::make_shared<const LocalLaunches>(environment_.state_folder,
                                                      environment_.owner.store_id)) {}

BackendDescription LocalBackend::Describe() const { return LocalKind().Describe(); }

LaunchStart LocalBackend::StartOf(const LaunchSpec& spec) const {
  return {launches_->FolderOf(spec.id),
          {spec, environment_.controller, environment_.state_folder},
          environment_.token ? environment_.token(spec.id) : "",
          environment_.program};
}

Result<LaunchPlan> LocalBackend::Plan(const LaunchSpec& spec) const {
  LaunchPlan plan;
  LaunchStart start{launches_->FolderOf(spec.id),
                    {spec, environment_.controller, environment_.state_folder},
                    "",
                    environment_.program};
  plan.text = fmt::format("{}={}", kCookieVariable, LaunchCookie(spec.owner.store_id, spec.id));
  for (const std::string& word : CommandOf(start)) plan.text += " " + word;
  plan.text +=
      fmt::format("\n# {}/order:\n{}", start.folder.path(), RenderLaunchOrder(start.order));
  plan.text += fmt::format("# {}/token: (token)\n", start.folder.path());
  if (spec.size.cpus > here_.cpus) {
    plan.not_honoured.push_back(fmt::format("cpus {}: this machine has {}; tasks share them",
                                            Render(spec.size.cpus), Render(here_.cpus)));
  }
  if (here_.memory.value > 0 && spec.size.memory > here_.memory) {
    plan.not_honoured.push_back(fmt::format("memory {}: this machine has {}",
                                            Render(spec.size.memory), Render(here_.memory)));
  }
  if (spec.size.gpus > 0) {
    plan.not_honoured.push_back(fmt::format(
        "gpus {}: they are counted, but not looked for and not kept apart", spec.size.gpus));
  }
  return plan;
}

ProbeAnswer LocalBackend::Probe(const CallContext&) {
  ProbeAnswer answer;
  answer.version = KernelVersion();
  answer.health = ProbeAnswer::Health::kDegraded;
  const std::string& program = environment_.program.front();
  const std::filesystem::path folder = ExistingPartOf(launches_->root());
  struct statvfs space{};
  if (::access(program.c_str(), X_OK) != 0) {
    answer.why = ErrnoError("run " + program, errno).ToString();
  } else if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    answer.why = ErrnoError("write into " + folder.string(), errno).ToString() +
                 "; make it writable or choose another state folder";
  } else if (::statvfs(folder.c_str(), &space) == 0 &&
             space.f_bavail * space.f_frsize < kLeastFreeBytes) {
    answer.why = fmt::format("{} has only {} left; free some space", folder.string(),
                             Render(Bytes{space.f_bavail * space.f_frsize}));
  } else {
    answer.health = ProbeAnswer::Health::kHealthy;
    answer.rights = {::geteuid() == 0 ? "run executors as root" : "run executors as this user"};
  }
  return answer;
}

SubmitAnswer LocalBackend::SubmitOne(const LaunchSpec& spec, const CallContext& call) {
  if (spec.owner.store_id != environment_.owner.store_id) {
    return {spec.id, SubmitAnswer::Kind::kRefused, "",
            InternalError(fmt::format("start {}: it is of store {}, but this backend serves {}",
                                      Render(spec.id), spec.owner.store_id,
                                      environment_.owner.store_id))};
  }
  if (Status time = CheckTime(call, "start " + Render(spec.id)); !time.ok()) {
    return {spec.id, SubmitAnswer::Kind::kUnknown, "", time.error()};
  }
  return StartLaunch(StartOf(spec), call);
}

std::vector<SubmitAnswer> LocalBackend::Submit(std::span<const LaunchSpec> specs,
                                               const CallContext& call) {
  std::vector<SubmitAnswer> answers;
  for (const LaunchSpec& spec : specs) {
    answers.push_back(SubmitOne(spec, call));
    if (answers.back().kind != SubmitAnswer::Kind::kRefused) TellWatchers(spec.id);
  }
  return answers;
}

FindAnswer LocalBackend::FindOne(LaunchId launch) const {
  FindAnswer answer;
  answer.id = launch;
  auto seen = launches_->FolderOf(launch).Look();
  if (!seen.ok()) {
    answer.why = Error(seen.error()).WithContext("find " + Render(launch));
    return answer;
  }
  switch (DecideStage(*seen)) {
    case LaunchStage::kNoFolder:
    case LaunchStage::kNeverStarted:
      answer.kind = FindAnswer::Kind::kAbsent;
      return answer;
    case LaunchStage::kStarting:
      answer.why = ClusterError(ErrorCode::kUnavailable,
                                fmt::format("find {}: it is just being started", Render(launch)));
      return answer;
    default:
      break;
  }
  answer.kind = FindAnswer::Kind::kThere;
  if (seen->identity) answer.external_id = ExternalId(*seen->identity);
  return answer;
}

std::vector<FindAnswer> LocalBackend::Find(std::span<const FindRequest> launches,
                                           const CallContext& call) {
  std::vector<FindAnswer> answers;
  for (const FindRequest& request : launches) {
    if (Status time = CheckTime(call, "find " + Render(request.id)); !time.ok()) {
      answers.push_back({request.id, FindAnswer::Kind::kCannotTell, "", time.error()});
    } else {
      answers.push_back(FindOne(request.id));
    }
  }
  return answers;
}

Result<LaunchPage> LocalBackend::ListOurs(const std::string& from, size_t limit,
                                          const CallContext& call) {
  RETURN_IF_ERROR(CheckTime(call, "list launches"));
  uint64_t after = 0;
  auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), after);
  if (!from.empty() && (error != std::errc() || end != from.data() + from.size())) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("list launches: \"{}\" is not where a page ended", from));
  }
  return launches_->ListPage(after, std::max<size_t>(limit, 1));
}

Result<std::vector<LaunchObservation>> LocalBackend::Observe(std::span<const LaunchId> launches,
                                                             const CallContext& call) {
  std::vector<LaunchObservation> observations;
  for (LaunchId launch : launches) {
    RETURN_IF_ERROR(CheckTime(call, "observe " + Render(launch)));
    observations.push_back(launches_->Observe(launch, TimeLeft(call)));
  }
  return observations;
}

Result<std::unique_ptr<LaunchWatch>> LocalBackend::Watch(
    std::function<void(const WatchEvent&)> on_event) {
  ASSIGN_OR_RETURN(std::shared_ptr<LaunchWatcher> watcher,
                   LaunchWatcher::Make(launches_, std::move(on_event)));
  {
    std::lock_guard lock(watchers_mutex_);
    std::erase_if(watchers_, [](const auto& old) { return old.expired(); });
    watchers_.push_back(watcher);
  }
  // Known to Submit by now, so that none is missed; some may be reported twice.
  ASSIGN_OR_RETURN(std::vector<LaunchId> launches, launches_->List());
  for (LaunchId launch : launches) watcher->Track(launch);
  return std::unique_ptr<LaunchWatch>(std::make_unique<WatchHandle>(std::move(watcher)));
}

void LocalBackend::TellWatchers(LaunchId launch) {
  std::lock_guard lock(watchers_mutex_);
  for (const auto& held : watchers_) {
    if (auto watcher = held.lock()) watcher->Track(launch);
  }
}

Status LocalBackend::StopOne(LaunchId launch, Duration grace, const CallContext& call) {
  const std::string context = "stop " + Render(launch);
  for (;;) {
    RETURN_IF_ERROR(CheckTime(call, context));
    auto seen = launches_->FolderOf(launch).Look();
    if (!seen.ok()) return std::move(seen).error().WithContext(context);
    switch (DecideStage(*seen)) {
      case LaunchStage::kStarting:
        ::poll(nullptr, 0, 2);
        continue;
      case LaunchStage::kKeeperLost:
        return launches_->FinishLost(launch, *seen, TimeLeft(call)).WithContext(context);
      case LaunchStage::kRunning: {
        Status asked = RequestStop(seen->identity->keeper, grace);
        if (!asked.ok() && asked.error().code == ErrorCode::kNotFound) return Status::Ok();
        return std::move(asked).WithContext(context);
      }
      default:
        return Status::Ok();
    }
  }
}

std::vector<Status> LocalBackend::Stop(std::span<const LaunchId> launches, Duration grace,
                                       const CallContext& call) {
  std::vector<Status> statuses;
  for (LaunchId launch : launches) statuses.push_back(StopOne(launch, grace, call));
  return statuses;
}

Status LocalBackend::ForgetOne(LaunchId launch) {
  const std::string context = "forget " + Render(launch);
  LaunchFolder folder = launches_->FolderOf(launch);
  auto may_run = [&] {
    return OperatorError(ErrorCode::kFailedPrecondition,
                         context + ": it may still run; stop it first");
  };
  auto seen = folder.Look();
  if (!seen.ok()) return std::move(seen).error().WithContext(context);
  switch (DecideStage(*seen)) {
    case LaunchStage::kNoFolder:
      return Status::Ok();
    case LaunchStage::kStarting:
    case LaunchStage::kRunning:
    case LaunchStage::kKeeperLost:
      return may_run();
    default:
      break;
  }
  if (auto order = folder.ReadOrder();
      order.ok() && order->spec.owner.store_id != environment_.owner.store_id) {
    return Status::Ok();  // not ours: there is nothing of ours to free
  }
  // Nobody may start it while it is taken away; a keeper that wrote its outcome ends any moment.
  for (int look = 0; look < 100; ++look) {
    auto lock = TakeLock(folder.lock_path());
    if (!lock.ok()) {
      if (lock.error().code == ErrorCode::kNotFound) return Status::Ok();
      return std::move(lock).error().WithContext(context);
    }
    if (!lock->valid()) {
      ::poll(nullptr, 0, 2);
      continue;
    }
    if (seen->identity) ReapKeeper(seen->identity->keeper);
    return folder.Remove().WithContext(context);
  }
  return may_run();
}

std::vector<Status> LocalBackend::Forget(std::span<const LaunchId> launches,
                                         const CallContext& call) {
  std::vector<Status> statuses;
  for (LaunchId launch : launches) {
    Status time = CheckTime(call, "forget " + Render(launch));
    statuses.push_back(time.ok() ? ForgetOne(launch) : time);
  }
  return statuses;
}

Result<std::unique_ptr<LogReader>> LocalBackend::OpenLog(LaunchId launch, uint64_t offset) {
  return std::unique_ptr<LogReader>(
      std::make_unique<ExecutorLogReader>(launches_->FolderOf(launch), offset));
}

BackendDescription LocalKind::Describe() const {
  BackendDescription description;
  description.kind = "local";
  description.sentence = "processes of this machine";
  description.submit = SubmitStyle::kByName;
  description.limits = LimitsStyle::kWatched;
  description.name_length = 255;
  description.name_alphabet = "a-z 0-9 -";
  description.batch_size = 1;
  description.parallel_calls = 4;
  description.streams = true;
  description.keeps_logs = true;
  description.outlives_controller = true;
  description.cannot = {"images", "keep GPUs apart"};
  return description;
}

ConfigCheck LocalKind::CheckConfig(std::span<const Setting> settings,
                                   const MachineSize& here) const {
  SettingsReader reader(settings);
  PoolSettings whole_machine;
  whole_machine.executor_size.cpus = here.cpus;
  whole_machine.executor_size.memory = here.memory;
  ConfigCheck check;
  check.config.pool = ReadPoolSettings(reader, whole_machine);
  if (std::string kind = reader.Text("kind", "local"); kind != "local") {
    reader.AddProblem("kind", fmt::format("is \"{}\", but this is \"local\"", kind));
  }
  check.problems = std::move(reader).Finish();
  return check;
}

Result<std::unique_ptr<Backend>> LocalKind::Make(const ClusterConfig&,
                                                 LaunchEnvironment environment) const {
  auto bad = [&](std::string_view what) {
    return InternalError(fmt::format("cluster {}: {}", environment.cluster, what));
  };
  if (environment.program.empty() || !environment.program.front().starts_with('/')) {
    return bad("the program that runs executors must be an absolute path");
  }
  if (!environment.state_folder.starts_with('/')) return bad("the state folder must be absolute");
  const std::string& store = environment.owner.store_id;
  if (store.empty() || store.find('/') != std::string::npos) return bad("the store has no id");
  return std::unique_ptr<Backend>(
      std::make_unique<LocalBackend>(std::move(environment), ReadMachineSize()));
}

}  // namespace muster::local
