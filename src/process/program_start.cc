#include "process/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

enum class Step : int { kNone, kParentGone, kStdout, kStderr, kChdir, kExec };

// Shared with the child, which writes failed_step and error_number.
struct Launch {
  const ProgramPlan* plan;
  pid_t parent;
  Step failed_step = Step::kNone;
  int error_number = 0;
  char candidate[PATH_MAX];
};

// The child runs on memory it shares with its parent: no allocation, no locks, no instrumentation.
#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

IN_CHILD void ExecFile(char* file, char** argv, char** env) {
  ::syscall(SYS_execve, file, argv, env);
  if (errno != ENOEXEC) return;
  // A script without "#!".
  char* first = argv[0];
  char shell[] = "/bin/sh";
  argv[-1] = shell;
  argv[0] = file;
  ::syscall(SYS_execve, shell, argv - 1, env);
  argv[0] = first;
  errno = ENOEXEC;
}

// Whether the search goes on after this error (what execvp does).
IN_CHILD bool IsPassing(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == EACCES ||
         error_number == ESTALE || error_number == ENODEV || error_number == ETIMEDOUT;
}

IN_CHILD int SearchAndExec(Launch* launch) {
  const ProgramPlan& plan = *launch->plan;
  char* name = plan.argv[0];
  size_t name_size = 0;
  bool has_slash = false;
  for (; name[name_size] != '\0'; ++name_size) has_slash |= name[name_size] == '/';
  if (name_size == 0) return ENOENT;
  if (has_slash) {
    ExecFile(name, plan.argv, plan.env);
    return errno;
  }
  bool denied = false;
  const char* folder = plan.path != nullptr ? plan.path : kDefaultPath;
  for (;;) {
    size_t folder_size = 0;
    while (folder[folder_size] != '\0' && folder[folder_size] != ':') ++folder_size;
    if (folder_size + name_size + 2 < sizeof launch->candidate) {
      char* at = launch->candidate;
      for (size_t i = 0; i < folder_size; ++i) *at++ = folder[i];
      if (folder_size > 0) *at++ = '/';  // an empty entry is the current folder
      for (size_t i = 0; i <= name_size; ++i) *at++ = name[i];
      ExecFile(launch->candidate, plan.argv, plan.env);
      if (errno == EACCES) denied = true;
      if (!IsPassing(errno)) return errno;
    }
    if (folder[folder_size] == '\0') return denied ? EACCES : ENOENT;
    folder += folder_size + 1;
  }
}

IN_CHILD int Fail(Launch* launch, Step step, int error_number) {
  launch->failed_step = step;
  launch->error_number = error_number;
  ::syscall(SYS_exit_group, 127);
  return 0;
}

IN_CHILD int RunChild(void* argument) {
  auto* launch = static_cast<Launch*>(argument);
  const ProgramPlan& plan = *launch->plan;
  ::syscall(SYS_setsid);
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::syscall(SYS_getppid) != launch->parent) return Fail(launch, Step::kParentGone, ESRCH);
  if (::syscall(SYS_dup3, plan.stdout_fd, 1, 0) < 0) return Fail(launch, Step::kStdout, errno);
  if (::syscall(SYS_dup3, plan.stderr_fd, 2, 0) < 0) return Fail(launch, Step::kStderr, errno);
  if (plan.cwd[0] != '\0' && ::syscall(SYS_chdir, plan.cwd) != 0) {
    return Fail(launch, Step::kChdir, errno);
  }
  unsigned long none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, 8);
  return Fail(launch, Step::kExec, SearchAndExec(launch));
}

// Only after a failure, so it may take its time: why execve says "no such file" of one that is
// there.
std::string ExplainMissing(const std::string& file) {
  UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char text[256];
  ssize_t size = opened.valid() ? ::read(opened.get(), text, sizeof text) : 0;
  std::string_view line(text, size > 0 ? static_cast<size_t>(size) : 0);
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("#!")) return " (the file is there, but not the loader that it names)";
  line.remove_prefix(2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  bool has_return = line.ends_with('\r');
  line = line.substr(0, line.find_first_of(" \t\r"));
  if (!has_return) return fmt::format(" (its first line names the interpreter {})", line);
  return fmt::format(
      " (its first line names the interpreter \"{}\\r\": the file has Windows line ends)", line);
}

std::string Explain(const ProgramPlan& plan, const std::string& file, int error_number) {
  std::string path = file;
  if (!path.starts_with('/') && plan.cwd[0] != '\0') path = std::string(plan.cwd) + "/" + path;
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return "";
  if (error_number == ENOENT) return ExplainMissing(path);
  if (error_number != EACCES) return "";
  if (S_ISDIR(found.st_mode)) return " (it is a folder)";
  if ((found.st_mode & 0111) == 0) return " (it is not executable: chmod +x)";
  return "";
}

// The file that a search for the name stopped at or would have found, for the explanation.
std::string FileOf(const ProgramPlan& plan) {
  std::string name = plan.argv[0];
  if (name.find('/') != std::string::npos) return name;
  std::string_view folders = plan.path != nullptr ? plan.path : kDefaultPath;
  while (!name.empty()) {
    size_t end = folders.find(':');
    std::string candidate = std::string(folders.substr(0, end)) + "/" + name;
    if (::access(candidate.c_str(), F_OK) == 0) return candidate;
    if (end == std::string_view::npos) break;
    folders.remove_prefix(end + 1);
  }
  return name;
}

std::string DescribeFailure(const ProgramPlan& plan, Step step, int error_number) {
  switch (step) {
    case Step::kNone:
      break;
    case Step::kParentGone:
      return "start: the spawner ended";
    case Step::kStdout:
      return "connect standard output";
    case Step::kStderr:
      return "connect standard error";
    case Step::kChdir:
      return fmt::format("chdir {}", plan.cwd);
    case Step::kExec: {
      std::string file = FileOf(plan);
      return fmt::format("exec {}{}", plan.argv[0], Explain(plan, file, error_number));
    }
  }
  return "clone";
}

}  // namespace

ProgramStart StartChild(const ProgramPlan& plan) {
  static Launch launch;
  alignas(64) static char stack[64 << 10];
  launch.plan = &plan;
  launch.parent = ::getpid();
  launch.failed_step = Step::kNone;
  launch.error_number = 0;
  ProgramStart start;
  start.pid = ::clone(&RunChild, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
  if (start.pid < 0) {
    start.pid = 0;
    start.error_number = errno;
    start.what_failed = "start a process";
    return start;
  }
  if (launch.failed_step == Step::kNone) return start;
  // It has never been the program: reaped here, so that nobody takes its end for the program's.
  while (::waitpid(start.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  start.pid = 0;
  start.error_number = launch.error_number;
  start.what_failed = DescribeFailure(plan, launch.failed_step, launch.error_number);
  return start;
}

}  // namespace muster
