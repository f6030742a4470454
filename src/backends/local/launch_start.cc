#include "backends/local/launch_start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "backends/local/keeper.h"
#include "backends/local/launch_lock.h"
#include "backends/local/local_launches.h"
#include "backends/local/record_file.h"
#include "base/unique_fd.h"

namespace muster::local {
namespace {

constexpr int kFirstFreeDescriptor = 10;

SubmitAnswer Accepted(LaunchId launch, const LaunchEvidence& seen) {
  SubmitAnswer answer{launch, SubmitAnswer::Kind::kAccepted, "", {}};
  if (seen.identity) answer.external_id = ExternalId(*seen.identity);
  return answer;
}

SubmitAnswer Refused(LaunchId launch, Error error) {
  return {launch, SubmitAnswer::Kind::kRefused, "", std::move(error)};
}

SubmitAnswer Unknown(LaunchId launch, Error error) {
  error.code = ErrorCode::kOutcomeUnknown;
  return {launch, SubmitAnswer::Kind::kUnknown, "", std::move(error)};
}

bool IsOver(const CallContext& call) {
  return call.stop.stop_requested() || SystemClock().Read().boot >= call.deadline;
}

// A copy that no redirection of a child can hit.
Result<UniqueFd> MoveAside(UniqueFd fd) {
  UniqueFd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
  if (!copy.valid()) return ErrnoError("copy a descriptor", errno);
  return copy;
}

Status MakeFolder(const LaunchFolder& folder) {
  std::error_code error;
  const std::filesystem::path path(folder.path());
  if (!std::filesystem::is_directory(path.parent_path(), error)) {
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return ErrnoError("make " + path.parent_path().string(), error.value());
  }
  if (::mkdir(folder.path().c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoError("make " + folder.path(), errno);
  }
  return Status::Ok();
}

// A child of ours, until it ends or we do.
struct StartedKeeper {
  pid_t pid = 0;
  UniqueFd said;
};

class SpawnSetup {
 public:
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;

  void GiveDescriptors(int said, int log, int lock) {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, said, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, log, STDERR_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, lock, kLockDescriptor);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kLockDescriptor + 1);
    ::posix_spawn_file_actions_addchdir_np(&actions_, "/");
  }
  // A session of its own: it outlives us, and neither a terminal's Ctrl-C nor its end reaches the
  // executor.
  void DetachFromTerminal() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  int Spawn(pid_t* pid, char* const* argv, char* const* environment) {
    return ::posix_spawn(pid, argv[0], &actions_, &attributes_, argv, environment);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<std::string> EnvironmentOf(const LaunchOrder& order) {
  const std::string variable = std::string(kCookieVariable) + "=";
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(variable)) environment.emplace_back(*entry);
  }
  environment.push_back(variable + LaunchCookie(order.spec.owner.store_id, order.spec.id));
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns once the program was exec'ed. The lock becomes its descriptor 3.
Result<StartedKeeper> RunKeeper(const LaunchStart& start, int lock) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoError("make a pipe", errno);
  UniqueFd read_end(ends[0]);
  ASSIGN_OR_RETURN(UniqueFd write_end, MoveAside(UniqueFd(ends[1])));
  const std::string log_path = start.folder.log_path();
  UniqueFd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoError("open " + log_path, errno);
  ASSIGN_OR_RETURN(log, MoveAside(std::move(log)));
  std::vector<std::string> command = CommandOf(start);
  std::vector<std::string> environment = EnvironmentOf(start.order);
  SpawnSetup setup;
  setup.GiveDescriptors(write_end.get(), log.get(), lock);
  setup.DetachFromTerminal();
  StartedKeeper keeper;
  int error = setup.Spawn(&keeper.pid, Pointers(command).data(), Pointers(environment).data());
  if (error != 0) return ErrnoError("run " + command[0], error);
  keeper.said = std::move(read_end);
  return keeper;
}

// The line the keeper said; nothing if it ended without a word, or the call's time is over.
std::optional<std::string> ReadAnswer(const UniqueFd& said, const CallContext& call) {
  std::string text;
  while (!IsOver(call)) {
    pollfd readable{said.get(), POLLIN, 0};
    if (::poll(&readable, 1, 20) <= 0) continue;
    std::array<char, 512> part{};
    ssize_t size = ::read(said.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    text.append(part.data(), static_cast<size_t>(size));
    if (size_t end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
  }
  return std::nullopt;
}

int WaitForEnd(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string LastLines(const LaunchFolder& folder) {
  std::string log = ReadWholeFile(folder.log_path()).value_or("");
  constexpr size_t kMost = 400;
  if (log.size() > kMost) log.erase(0, log.size() - kMost);
  while (!log.empty() && log.back() == '\n') log.pop_back();
  return log;
}

// The keeper ended or was ended without a word. `lock` is released on the way, to see if others
// hold it.
SubmitAnswer DecideSilentStart(const LaunchStart& start, UniqueFd lock, int status) {
  const LaunchId launch = start.order.spec.id;
  lock.Reset();
  auto what = fmt::format("start {}: {} ended without an answer ({} {})", Render(launch),
                          start.program.front(), WIFEXITED(status) ? "exit code" : "signal",
                          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  Error error = OperatorError(ErrorCode::kInternal, std::move(what));
  error.their_words = LastLines(start.folder);
  // An executor that never began may hold the lock for a moment.
  for (int look = 0; look < 50; ++look) {
    auto seen = start.folder.Look();
    if (!seen.ok()) return Unknown(launch, seen.error());
    switch (DecideStage(*seen)) {
      case LaunchStage::kStarting:
        ::poll(nullptr, 0, 10);
        continue;
      case LaunchStage::kNoFolder:
      case LaunchStage::kNeverStarted: {
        auto again = TakeLock(start.folder.lock_path());
        if (!again.ok() || !again->valid()) return Unknown(launch, std::move(error));
        (void)start.folder.Remove().ok();
        return Refused(launch, std::move(error));
      }
      default:
        return Accepted(launch, *seen);
    }
  }
  return Unknown(launch, std::move(error));
}

Status WriteFolder(const LaunchStart& start) {
  if (auto there = start.folder.ReadOrder();
      there.ok() && there->spec.owner.store_id != start.order.spec.owner.store_id) {
    return OperatorError(
        ErrorCode::kAlreadyExists,
        fmt::format("start {}: {} belongs to store {}", Render(start.order.spec.id),
                    start.folder.path(), there->spec.owner.store_id));
  }
  RETURN_IF_ERROR(start.folder.ReserveOutcome());
  RETURN_IF_ERROR(start.folder.WriteOrder(start.order));
  return start.folder.WriteToken(start.token);
}

// With the lock held and nothing started yet.
SubmitAnswer StartLocked(const LaunchStart& start, UniqueFd lock, const CallContext& call) {
  const LaunchId launch = start.order.spec.id;
  auto context = fmt::format("start {}", Render(launch));
  auto refuse = [&](Error error) {
    if (error.code != ErrorCode::kAlreadyExists) (void)start.folder.Remove().ok();
    return Refused(launch, std::move(error).WithContext(context));
  };
  if (Status written = WriteFolder(start); !written.ok()) return refuse(written.error());
  auto aside = MoveAside(std::move(lock));
  if (!aside.ok()) return refuse(aside.error());
  auto keeper = RunKeeper(start, aside->get());
  if (!keeper.ok()) return refuse(keeper.error());
  std::optional<std::string> said = ReadAnswer(keeper->said, call);
  if (!said) {
    ::kill(keeper->pid, SIGKILL);
    return DecideSilentStart(start, std::move(*aside), WaitForEnd(keeper->pid));
  }
  if (said != "started") {
    WaitForEnd(keeper->pid);
    return refuse(OperatorError(ErrorCode::kInternal, said->substr(said->find(' ') + 1)));
  }
  auto seen = start.folder.Look();
  return Accepted(launch, seen.ok() ? *seen : LaunchEvidence{});
}

}  // namespace

std::vector<std::string> CommandOf(const LaunchStart& start) {
  std::vector<std::string> command = start.program;
  command.insert(command.end(), {"executor", "--launch-dir", start.folder.path()});
  return command;
}

SubmitAnswer StartLaunch(const LaunchStart& start, const CallContext& call) {
  const LaunchId launch = start.order.spec.id;
  auto context = fmt::format("start {}", Render(launch));
  while (!IsOver(call)) {
    if (Status made = MakeFolder(start.folder); !made.ok()) {
      return Refused(launch, Error(made.error()).WithContext(context));
    }
    // Before the lock: what was started already needs none, and may be somebody else's to read
    // only.
    auto seen = start.folder.Look();
    if (!seen.ok()) return Unknown(launch, Error(seen.error()).WithContext(context));
    if (seen->identity_written) return Accepted(launch, *seen);
    auto lock = TakeLock(start.folder.lock_path());
    if (!lock.ok()) {
      if (lock.error().code == ErrorCode::kNotFound) continue;  // forgotten in between
      return Refused(launch, Error(lock.error()).WithContext(context));
    }
    if (lock->valid()) {
      // Another start may have come and gone since the look.
      auto again = start.folder.Look();
      if (!again.ok()) return Unknown(launch, Error(again.error()).WithContext(context));
      if (again->identity_written) return Accepted(launch, *again);
      return StartLocked(start, std::move(*lock), call);
    }
    ::poll(nullptr, 0, 2);  // somebody else is at it
  }
  return Unknown(launch, OperatorError(ErrorCode::kOutcomeUnknown,
                                       context + ": no answer within the time of the call"));
}

}  // namespace muster::local
