// ApiServer: the REST API (api/openapi/v1.yaml), events, and the door for executors, on one HttpServer.
//
//     ApiServer server(loop, service, &controller, {.version = kVersion});
//     RETURN_IF_ERROR(server.ListenUnix(path));
//
// Translates and authorises; decides nothing. Loop's thread. Borrows loop, service and door.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/worker_pool.h"
#include "control/service.h"
#include "net/http_server.h"
#include "server/output_source.h"

namespace muster::server {

struct ApiServerOptions {
  std::string version;
  // The user this server runs for; peers with another uid (root excepted) are refused.
  uint32_t owner_uid = 0;
  // Asked by POST /v1/server/stop; null: not offered.
  std::function<void()> on_stop;
};

class ApiServer {
 public:
  // `door` may be null: executors are refused then (stores opened read-only).
  ApiServer(EventLoop& loop, control::Service& service, control::ExecutorDoor* door,
            ApiServerOptions options);
  ~ApiServer();

  Status ListenUnix(const std::string& path) { return http_.ListenUnix(path, 0600); }
  Status ListenTcp(const std::string& address, uint16_t port) {
    return http_.ListenTcp(address, port);
  }
  uint16_t port() const { return http_.port(); }
  void Close(Duration grace, std::function<void()> done) { http_.Close(grace, std::move(done)); }

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  // What a route finds of the ids in its path; the error is answered already if not ok.
  std::optional<JobId> JobOf(const Exchange& exchange);
  std::optional<TaskId> TaskOf(const Exchange& exchange);
  void AddServerRoutes();
  void AddJobRoutes();
  void AddTaskRoutes();
  void AddExecutorDoor();
  void PostJob(const Exchange& exchange);
  void SubmitSpec(const Exchange& exchange, Result<JobSpec> spec, size_t body_bytes);
  void PostCancel(const Exchange& exchange);
  void GetLog(const Exchange& exchange);
  control::Caller CallerOf(const HttpRequest& request) const;

  EventLoop& loop_;
  control::Service& service_;
  control::ExecutorDoor* const door_;
  const ApiServerOptions options_;
  OutputSource output_;
  // Reads submit bodies, so that a million items do not hold up the loop.
  WorkerPool parsers_;
  HttpServer http_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::server
