// The executors that are connected: frames of the executor protocol in and out.
//
// Translates frames into core inputs and effects into frames; one frame to each executor at the end of a
// pass holds all that the pass has for it. Core thread; owned by Controller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "control/service.h"
#include "core/effect.h"
#include "core/input.h"

namespace muster::executor::v1 {
class FromController;
class FromExecutor;
class Hello;
}  // namespace muster::executor::v1

namespace muster::control {

// How long things may take without contact; told to each executor in its welcome.
struct ContactSettings {
  Duration lease{std::chrono::seconds(30)};
  Duration heartbeat{std::chrono::seconds(5)};
  Duration leave_idle{std::chrono::minutes(10)};
  Duration leave_holding{std::chrono::hours(24)};
  // After so long without a controller what runs is stopped and the executor leaves; 0: never.
  Duration stop_orphaned{0};
};

class ExecutorSessions {
 public:
  using TakeInput = std::function<void(core::Input)>;
  ExecutorSessions(std::string store_id, ContactSettings settings, TakeInput take_input);
  ~ExecutorSessions();

  void SetEpoch(uint64_t epoch) { epoch_ = epoch; }

  // -- from the door
  ExecutorDoor::ChannelId Connected(std::shared_ptr<ExecutorChannel> channel);
  void Frame(ExecutorDoor::ChannelId id, std::string_view bytes);
  void Closed(ExecutorDoor::ChannelId id);

  // -- effects; to an executor that is not connected they are dropped: its next hello shows what it has
  void Welcome(const core::WelcomeExecutor& effect);
  void Run(const core::RunAttempts& effect, const JobSpec& spec, uint32_t spec_index,
           uint32_t first_of_spec);
  void Recall(const core::RecallAttempt& effect);
  void Stop(const core::StopAttempt& effect);
  void Ack(const core::AckAttempt& effect);
  void Publish(const core::PublishAttempt& effect, const JobSpec& spec, uint32_t spec_index,
               uint32_t first_of_spec);
  void AskHeld(const core::AskHeld& effect);
  void Drain(const core::DrainExecutor& effect);
  // Templates of a job that ended need not be kept by anybody.
  void ForgetJob(JobId job, size_t specs);
  // Sends what has gathered.
  void Flush();
  void CloseAll(const std::string& why);

  size_t connected() const { return bound_.size(); }
  uint64_t frames_in() const { return frames_in_; }
  uint64_t frames_out() const { return frames_out_; }

 private:
  struct Session;
  Session* Bound(ExecutorId executor);
  executor::v1::FromController* Outgoing(ExecutorId executor);
  void TakeHello(Session& session, const executor::v1::Hello& hello);
  void TakeReports(Session& session, const executor::v1::FromExecutor& frame);
  void EnsureTemplate(Session& session, uint64_t id, const JobSpec& spec, uint32_t spec_index);
  void Refuse(Session& session, const std::string& why);

  const std::string store_id_;
  const ContactSettings settings_;
  const TakeInput take_input_;
  uint64_t epoch_ = 0;
  ExecutorDoor::ChannelId next_id_ = 1;
  std::unordered_map<ExecutorDoor::ChannelId, std::unique_ptr<Session>> sessions_;
  std::unordered_map<ExecutorId, Session*> bound_;
  std::vector<Session*> dirty_;
  uint64_t frames_in_ = 0;
  uint64_t frames_out_ = 0;
};

}  // namespace muster::control
