// muster: controller, executor and command line in one program.
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "apps/clusters.h"
#include "apps/hosted_controller.h"
#include "apps/run_folders.h"
#include "backends/local/keeper.h"
#include "backends/local/launch_folder.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "client/client.h"
#include "executor/executor.h"

namespace muster::apps {
namespace {

Status CheckStateDir(const Config& config) {
  if (!config.state_dir.value.empty()) return Status::Ok();
  return OperatorError(ErrorCode::kFailedPrecondition,
                       "there is no home folder to keep runs in; set MUSTER_STATE_DIR");
}

Result<std::unique_ptr<cli::HostedController>> StartPrivate(const Config& config,
                                                            const cli::PrivateRun& run) {
  RETURN_IF_ERROR(CheckStateDir(config));
  RunFolders folders(config.state_dir.value);
  HostingOptions options;
  options.ends_with_us = true;
  if (run.resume) {
    options.folder = folders.RunFolder(*run.resume);
    struct stat found{};
    if (::stat(options.folder.c_str(), &found) != 0) {
      return UserError(ErrorCode::kNotFound,
                       fmt::format("there is no private run {} below {}", Render(*run.resume),
                                   folders.state_dir()));
    }
    options.first_job = run.resume->number;
  } else {
    ASSIGN_OR_RETURN(JobId job, folders.MakeRun());
    options.folder = folders.RunFolder(job);
    options.first_job = job.number;
  }
  ASSIGN_OR_RETURN(auto hosted, HostedController::Start(config, std::move(options)));
  return std::unique_ptr<cli::HostedController>(std::move(hosted));
}

std::optional<Endpoint> FindLiveRun(const Config& config, JobId job) {
  if (config.state_dir.value.empty()) return std::nullopt;
  auto socket = SocketPath(RunFolders(config.state_dir.value).RunFolder(job));
  struct stat found{};
  if (!socket.ok() || ::stat(socket->c_str(), &found) != 0) return std::nullopt;
  Endpoint endpoint = Endpoint::Unix(*socket);
  Client client(endpoint);
  client.SetTimeout(std::chrono::seconds(5));
  if (!client.Server().ok()) return std::nullopt;
  return endpoint;
}

// Until SIGTERM or SIGINT. The signals are blocked in every thread and taken here.
int Serve(const Config& config, const cli::ServeOptions& serve) {
  if (auto checked = CheckStateDir(config); !checked.ok()) return cli::Complain(checked.error());
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  HostingOptions options;
  options.folder = RunFolders(config.state_dir.value).ControllerFolder();
  options.socket = serve.socket;
  if (options.socket.empty() && config.controller.value.starts_with('/')) {
    options.socket = config.controller.value;
  }
  if (options.socket.empty() && config.controller.value.starts_with("unix:")) {
    options.socket = config.controller.value.substr(5);
  }
  const pthread_t self = ::pthread_self();
  options.on_fatal = [self](const Error&) { ::pthread_kill(self, SIGUSR1); };
  auto hosted = HostedController::Start(config, std::move(options));
  if (!hosted.ok()) return cli::Complain(hosted.error());
  fmt::print("muster: listening on {}, state in {}\n", Render((*hosted)->endpoint()),
             (*hosted)->state_dir());
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&set, &signal);
  if (signal == SIGUSR1) {
    fmt::print(stderr, "muster: the journal failed, stopping\n");
    return cli::kExitFailed;
  }
  fmt::print(stderr, "muster: stopping; executors and their tasks go on\n");
  return cli::kExitOk;
}

// What a task finds in its environment: that of the shell which started the controller, less our own words.
std::vector<std::pair<std::string, std::string>> BaseEnvironment() {
  std::vector<std::pair<std::string, std::string>> base;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // The launch's cookie goes along: by it the backend finds what an executor left behind.
    std::string_view name = text.substr(0, equals);
    if (name.starts_with("MUSTER_") && name != local::kCookieVariable) continue;
    base.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return base;
}

int RunExecutorHere(const std::string& launch_dir) {
  local::LaunchFolder folder(launch_dir);
  auto order = folder.ReadOrder();
  if (!order.ok()) return cli::Complain(order.error());
  auto controller = ParseEndpoint(order->controller);
  if (!controller.ok()) return cli::Complain(controller.error());
  executor::ExecutorOptions options;
  options.version = cli::kVersion;
  options.launch = order->spec;
  options.controller = *controller;
  options.output_dir = fmt::format("{}/output/{}", order->state_folder, Render(order->spec.executor));
  options.record_path = launch_dir + "/record";
  options.scratch_dir = launch_dir + "/scratch";
  options.take_token = [folder] { return folder.TakeToken(); };
  options.added_env = BaseEnvironment();
  if (auto made = MakeFolder(options.output_dir); !made.ok()) return cli::Complain(made.error());
  return executor::RunExecutor(options);
}

}  // namespace
}  // namespace muster::apps

int main(int argc, char** argv) {
  using namespace muster;
  ::signal(SIGPIPE, SIG_IGN);
  cli::Hooks hooks;
  hooks.start_private = apps::StartPrivate;
  hooks.open_past_runs = apps::OpenPastRuns;
  hooks.find_live_run = apps::FindLiveRun;
  hooks.serve = apps::Serve;
  // The keeper says that the launch began, outlives the executor and ends what it leaves behind.
  hooks.run_executor = [](const std::string& launch_dir) {
    return local::RunLaunch(launch_dir, [&] { return apps::RunExecutorHere(launch_dir); });
  };
  hooks.plan = apps::PlanLines;
  return cli::RunCli(argc, argv, hooks);
}
