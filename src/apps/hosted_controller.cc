#include "apps/hosted_controller.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <utility>

#include "apps/clusters.h"
#include "apps/run_folders.h"
#include "base/log.h"
#include "base/worker_pool.h"
#include "cli/cli.h"
#include "control/catalog.h"
#include "control/controller.h"
#include "net/event_loop.h"
#include "process/process_identity.h"
#include "server/api_server.h"
#include "store/archive.h"
#include "store/store.h"
#include "store/system_disk.h"

namespace muster::apps {
namespace {

constexpr Duration kOrphanTime = std::chrono::seconds(5);
constexpr Duration kStopTime = std::chrono::seconds(10);
constexpr Duration kCloseTime = std::chrono::milliseconds(200);

Result<std::string> OwnProgram() {
  char path[4096];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length < 0) return ErrnoError("read /proc/self/exe", errno);
  return std::string(path, static_cast<size_t>(length));
}

}  // namespace

// Everything that lives on the controller's thread, in the order in which it is made.
struct HostedController::Parts {
  HostingOptions options;
  std::string socket;
  Config config;
  Random random = Random::FromSystem();
  std::thread thread;
  EventLoop loop;
  // Posts its answers to the loop: must be gone before it.
  WorkerPool calls{"clusters", 4, 10'000};

  // Made and destroyed on the thread.
  std::unique_ptr<store::ThreadBackground> syncing;
  std::unique_ptr<store::ThreadBackground> writing;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<store::Archive> archive;
  std::vector<control::Cluster> clusters;
  std::unique_ptr<control::Controller> controller;
  std::unique_ptr<server::ApiServer> server;
  bool stopping = false;

  Status Begin();
  Status OpenDoors();
  void Run(std::promise<Status> started);
  void BeginStop();
  void EndExecutors();
  void End();
};

Status HostedController::Parts::Begin() {
  RETURN_IF_ERROR(MakeFolder(options.folder));
  std::string folder = options.folder + "/store";
  syncing = std::make_unique<store::ThreadBackground>(loop, "journal-sync");
  writing = std::make_unique<store::ThreadBackground>(loop, "snapshot");
  store::JournalTools tools{store::SystemDisk(), loop, *syncing, *writing, random};
  ASSIGN_OR_RETURN(store::Store::Opened opened, store::Store::Open(tools, folder));
  if (!opened.replay.torn.empty()) LogWarning("journal: {}", opened.replay.torn);
  store = std::move(opened.store);
  if (!options.ends_with_us) archive = store::OpenArchive(loop, store::ArchivePath(folder));
  ASSIGN_OR_RETURN(std::string program, OwnProgram());
  LaunchEnvironment environment;
  environment.owner = {store->store_id(), store->epoch()};
  environment.program = {program};
  environment.controller = "unix:" + socket;
  environment.state_folder = options.folder;
  // On a unix socket that only this user can open the peer's identity is proof enough.
  environment.token = [](LaunchId) { return std::string("unix"); };
  ASSIGN_OR_RETURN(clusters, MakeClusters(config, environment, calls));

  control::ControllerOptions with;
  with.version = cli::kVersion;
  with.state_dir = options.folder;
  with.default_cluster = config.default_cluster.value;
  with.first_job = options.first_job;
  with.clusters = clusters;
  if (options.ends_with_us) with.contact.stop_orphaned = kOrphanTime;
  if (auto boot = IdentityOf(::getpid()); boot.ok()) with.boot_id = boot->boot_id;
  with.pid = ::getpid();
  controller = std::make_unique<control::Controller>(loop, *store, archive.get(),
                                                     std::move(opened.state), std::move(with));
  controller->OnFatal([this](const Error& error) {
    if (options.on_fatal) options.on_fatal(error);
  });
  RETURN_IF_ERROR(OpenDoors());
  return controller->Start();
}

Status HostedController::Parts::OpenDoors() {
  server::ApiServerOptions with;
  with.version = cli::kVersion;
  with.owner_uid = ::geteuid();
  server = std::make_unique<server::ApiServer>(loop, *controller, controller.get(), std::move(with));
  return server->ListenUnix(socket);
}

void HostedController::Parts::Run(std::promise<Status> started) {
  Status begun = Begin();
  bool ok = begun.ok();
  started.set_value(std::move(begun));
  if (ok) loop.Run();
  End();
}

// Executors of a private run end with it: their trees are ended and that is confirmed.
void HostedController::Parts::EndExecutors() {
  for (const control::Cluster& cluster : clusters) {
    CallContext call{loop.ReadClock().boot + kStopTime, {}};
    auto ours = cluster.backend->ListOurs("", 1000, call);
    if (!ours.ok()) continue;
    std::vector<LaunchId> ids;
    for (const ListedLaunch& launch : ours->ours) ids.push_back(launch.id);
    for (const Status& stopped : cluster.backend->Stop(ids, Duration(0), call)) {
      if (!stopped.ok()) LogWarning("stop an executor: {}", stopped.error().ToString());
    }
    while (loop.ReadClock().boot < call.deadline) {
      auto seen = cluster.backend->Observe(ids, call);
      bool gone = seen.ok();
      if (seen.ok()) {
        for (const LaunchObservation& one : *seen) {
          gone = gone && (one.phase == LaunchPhase::kEnded || one.phase == LaunchPhase::kAbsent);
        }
      }
      if (gone) break;
      ::usleep(5'000);
    }
    for (const Status& forgotten : cluster.backend->Forget(ids, call)) {
      if (!forgotten.ok()) LogWarning("forget an executor: {}", forgotten.error().ToString());
    }
  }
}

void HostedController::Parts::BeginStop() {
  if (stopping) return;
  stopping = true;
  controller->Stop([this] {
    server->Close(kCloseTime, [this] { loop.Stop(); });
  });
}

void HostedController::Parts::End() {
  if (options.ends_with_us) EndExecutors();
  server.reset();
  controller.reset();
  clusters.clear();
  archive.reset();
  store.reset();
  syncing.reset();
  writing.reset();
  ::unlink(socket.c_str());
}

HostedController::HostedController(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<HostedController>> HostedController::Start(const Config& config,
                                                                  HostingOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->options = std::move(options);
  parts->config = config;
  parts->socket = parts->options.socket;
  RETURN_IF_ERROR(MakeFolder(parts->options.folder));
  if (parts->socket.empty()) {
    ASSIGN_OR_RETURN(parts->socket, SocketPath(parts->options.folder));
  }
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  Parts* raw = parts.get();
  parts->thread = std::thread([raw, promise = std::move(started)]() mutable {
    ::pthread_setname_np(::pthread_self(), "controller");
    raw->Run(std::move(promise));
  });
  Status begun = outcome.get();
  if (!begun.ok()) {
    parts->thread.join();
    return std::move(begun).error();
  }
  return std::unique_ptr<HostedController>(new HostedController(std::move(parts)));
}

HostedController::~HostedController() {
  parts_->loop.Post([parts = parts_.get()] { parts->BeginStop(); });
  parts_->thread.join();
}

Endpoint HostedController::endpoint() const { return Endpoint::Unix(parts_->socket); }
std::string HostedController::state_dir() const { return parts_->options.folder; }

void HostedController::Kill() {
  // The end of this host kills what is left (EndExecutors); nothing is waited for before.
}

// -- past runs

namespace {

class PastRuns final : public cli::HostedController {
 public:
  static Result<std::unique_ptr<cli::HostedController>> Open(const Config& config) {
    auto runs = std::unique_ptr<PastRuns>(new PastRuns(config));
    RETURN_IF_ERROR(runs->Start());
    return std::unique_ptr<cli::HostedController>(std::move(runs));
  }
  ~PastRuns() override {
    if (!thread_.joinable()) return;
    loop_.Stop();
    thread_.join();
    ::unlink(socket_.c_str());
    ::rmdir(folder_.c_str());
  }
  Endpoint endpoint() const override { return Endpoint::Unix(socket_); }
  std::string state_dir() const override { return folders_.state_dir(); }
  void Kill() override {}

 private:
  explicit PastRuns(const Config& config)
      : folders_(config.state_dir.value), catalog_(SystemClock(), cli::kVersion) {}

  void Add(const std::string& folder) {
    auto state = store::ReadStore(store::SystemDisk(), folder + "/store");
    if (state.ok()) {
      catalog_.Add(std::move(state->state), folder);
    } else if (state.error().code != ErrorCode::kNotFound) {
      LogWarning("{}: {}", folder, state.error().ToString());
    }
  }

  Status Start() {
    for (JobId job : folders_.ListRuns()) Add(folders_.RunFolder(job));
    // A folder that only we can enter; the state folder may be read-only.
    char pattern[] = "/tmp/muster-read-XXXXXX";
    if (::mkdtemp(pattern) == nullptr) return ErrnoError("make a folder in /tmp", errno);
    folder_ = pattern;
    socket_ = folder_ + "/socket";
    std::promise<Status> started;
    std::future<Status> outcome = started.get_future();
    thread_ = std::thread([this, promise = std::move(started)]() mutable {
      server::ApiServerOptions with;
      with.version = cli::kVersion;
      with.owner_uid = ::geteuid();
      server::ApiServer server(loop_, catalog_, nullptr, std::move(with));
      Status listening = server.ListenUnix(socket_);
      bool ok = listening.ok();
      promise.set_value(std::move(listening));
      if (ok) loop_.Run();
    });
    return outcome.get();
  }

  const RunFolders folders_;
  control::Catalog catalog_;
  EventLoop loop_;
  std::string folder_;
  std::string socket_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<cli::HostedController>> OpenPastRuns(const Config& config) {
  return PastRuns::Open(config);
}

}  // namespace muster::apps
