// An executor that does what the labels of its launch say, for tests of backends/local:
//
//   behave: wait (until SIGTERM, then exit 0) | exit (with label `code`) | signal (itself,
//   `signal`) |
//           stubborn (ignores SIGTERM)
//   text:   printed first
//   escape: leaves a process that is in no group or session of ours; "bare": without our
//   environment
//
// Each start adds a byte to <state>/starts-<launch>, so that tests can count them; the token it
// took is kept in <launch folder>/token_seen, and the escaped process in <launch folder>/escaped.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/local/keeper.h"
#include "backends/local/launch_folder.h"
#include "backends/local/record_file.h"

namespace muster::local {
namespace {

std::string LabelOf(const LaunchOrder& order, std::string_view key) {
  for (const auto& [name, value] : order.spec.labels) {
    if (name == key) return value;
  }
  return "";
}

void CountStart(const LaunchOrder& order) {
  std::string path = order.state_folder + "/starts-" + Render(order.spec.id);
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  [[maybe_unused]] ssize_t written = ::write(file, "s", 1);
  ::close(file);
}

// The grandchild's parent is gone at once, as with a daemon.
void LeaveEscapee(const LaunchFolder& folder, bool bare) {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  (void)WriteWholeFile(folder.path() + "/escaped", std::to_string(::getpid())).ok();
  char name[] = "sleep";
  char time[] = "1000";
  char* const argv[] = {name, time, nullptr};
  char* const nothing[] = {nullptr};
  ::execve("/bin/sleep", argv, bare ? nothing : environ);
  ::_exit(127);
}

int RunUntilTerm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  int signal = 0;
  ::sigwait(&set, &signal);
  return 0;
}

int Run(const std::string& path) {
  LaunchFolder folder(path);
  auto order = folder.ReadOrder();
  if (!order.ok()) {
    std::fprintf(stderr, "%s\n", order.error().ToString().c_str());
    return 1;
  }
  const std::string behave = LabelOf(*order, "behave");
  if (behave == "stubborn") ::signal(SIGTERM, SIG_IGN);
  (void)WriteWholeFile(path + "/token_seen", folder.TakeToken().value_or("none")).ok();
  std::printf("%s", LabelOf(*order, "text").c_str());
  std::fflush(stdout);
  if (std::string escape = LabelOf(*order, "escape"); !escape.empty()) {
    LeaveEscapee(folder, escape == "bare");
  }
  CountStart(*order);
  if (behave == "exit") return std::atoi(LabelOf(*order, "code").c_str());
  if (behave == "signal") ::raise(std::atoi(LabelOf(*order, "signal").c_str()));
  while (behave == "stubborn") ::pause();
  return RunUntilTerm();
}

}  // namespace
}  // namespace muster::local

int main(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != "executor" ||
      std::string_view(argv[2]) != "--launch-dir") {
    std::fprintf(stderr, "usage: muster_test_executor executor --launch-dir DIR\n");
    return 2;
  }
  const std::string folder = argv[3];
  return muster::local::RunLaunch(folder, [&] { return muster::local::Run(folder); });
}
