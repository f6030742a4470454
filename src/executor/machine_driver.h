// For tests of ExecutorMachine: plays controller, programs and time in a few words. Tasks are named
// by their number alone: all are first attempts of j1.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "executor/executor_machine.h"
#include "wire/executor.pb.h"

namespace muster::executor {

class Driver {
 public:
  static ExecutorIdentity Identity(uint64_t milli_cpus = 2000, uint32_t max_attempts = 0) {
    ExecutorIdentity identity;
    identity.executor = {3};
    identity.launch = {7};
    identity.token = "secret";
    identity.capacity.cpus = {milli_cpus};
    identity.capacity.memory = GiB(8);
    identity.max_attempts = max_attempts;
    return identity;
  }
  explicit Driver(ExecutorIdentity identity = Identity(), ContactRules rules = {})
      : machine(std::move(identity), rules, now) {}

  static AttemptId Id(uint32_t task) { return {{{1}, task}, 1}; }
  static void Name(v1::AttemptRef& ref, uint32_t task, uint32_t send) {
    ref.set_job(1);
    ref.set_task(task);
    ref.set_n(1);
    ref.set_send(send);
  }
  static v1::Template& AddTemplate(v1::FromController& message, uint64_t id) {
    v1::Template& added = *message.add_templates();
    added.set_id(id);
    added.set_shell("true");
    added.set_milli_cpus(1000);
    added.set_grace_us(5'000'000);
    return added;
  }
  static void AddRun(v1::FromController& message, uint32_t task, uint32_t send, uint64_t id) {
    v1::Run& run = *message.add_runs();
    Name(*run.mutable_attempt(), task, send);
    run.set_template_id(id);
  }

  v1::FromController Message() const {
    v1::FromController message;
    message.set_epoch(epoch);
    return message;
  }
  v1::FromController Welcome() const {
    v1::FromController message = Message();
    v1::Welcome& welcome = *message.mutable_welcome();
    welcome.set_epoch(epoch);
    welcome.set_lease_us(30'000'000);
    welcome.set_heartbeat_us(5'000'000);
    welcome.set_leave_idle_us(600'000'000);
    welcome.set_leave_holding_us(86'400'000'000);
    welcome.set_stop_orphaned_us(stop_orphaned.count());
    return message;
  }
  void Send(const v1::FromController& message) {
    machine.OnMessage(message, now);
    Collect();
  }
  void Connect(uint64_t as_epoch = 1) {
    epoch = as_epoch;
    Reconnect();
  }
  // Cuts the connection if there is one, connects, is welcomed; returns the hello.
  v1::Hello Reconnect() {
    machine.OnDisconnected(now);
    machine.OnConnected(now);
    v1::Hello hello = Take().value_or(v1::FromExecutor()).hello();
    Send(Welcome());
    return hello;
  }
  void Run(std::initializer_list<uint32_t> tasks, uint32_t send = 1) {
    auto message = Message();
    AddTemplate(message, 1);
    for (uint32_t task : tasks) AddRun(message, task, send, 1);
    Send(message);
  }
  void RunWithOut(std::initializer_list<uint32_t> tasks) {
    auto message = Message();
    AddTemplate(message, 2).set_out_dir("out/t");
    for (uint32_t task : tasks) AddRun(message, task, 1, 2);
    Send(message);
  }
  void Ack(uint32_t task) {
    auto message = Message();
    Name(*message.add_acks(), task, 1);
    Send(message);
  }
  void Publish(uint32_t task) {
    auto message = Message();
    Name(*message.add_publishes(), task, 1);
    Send(message);
  }
  void Recall(uint32_t task, uint32_t send = 1) {
    auto message = Message();
    Name(*message.add_recalls(), task, send);
    Send(message);
  }
  void Stop(uint32_t task, Duration grace) {
    auto message = Message();
    v1::Stop& stop = *message.add_stops();
    Name(*stop.mutable_attempt(), task, 1);
    stop.set_cause(v1::Ended::CANCELLED);
    stop.set_grace_us(grace.count());
    Send(message);
  }
  void Drain(Duration grace) {
    auto message = Message();
    message.mutable_drain()->set_grace_us(grace.count());
    message.mutable_drain()->set_why("shrink");
    Send(message);
  }

  void Start(uint32_t task) {
    machine.OnProgramStarted(Id(task), 1000 + task, now.wall, now);
    Collect();
  }
  void End(uint32_t task, int32_t code = 0) {
    ExitFacts facts;
    facts.code = code;
    machine.OnProgramEnded(Id(task), facts, 1000 + task, now);
    Collect();
  }
  void Pass(Duration time) {
    now.boot = now.boot + time;
    now.wall = now.wall + time;
    machine.OnTime(now);
    Collect();
  }

  std::optional<v1::FromExecutor> Take() {
    v1::FromExecutor batch;
    bool taken = machine.TakeMessage(now, batch);
    Collect();
    if (!taken) return std::nullopt;
    return batch;
  }
  // The task numbers of the starts ordered since the last call.
  std::vector<uint32_t> Started() {
    std::vector<uint32_t> tasks;
    for (const StartAttempt& start : Actions<StartAttempt>()) {
      tasks.push_back(start.attempt.task.number);
    }
    return tasks;
  }
  // The actions of one kind since the last call for that kind.
  template <typename T>
  std::vector<T> Actions() {
    Collect();
    std::vector<T> found;
    std::vector<Action> rest;
    for (Action& action : actions_) {
      if (auto* wanted = std::get_if<T>(&action)) {
        found.push_back(std::move(*wanted));
      } else {
        rest.push_back(std::move(action));
      }
    }
    actions_ = std::move(rest);
    return found;
  }

  Now now{{1'700'000'000'000'000}, {1'000'000'000}};
  uint64_t epoch = 1;
  Duration stop_orphaned{0};
  ExecutorMachine machine;

 private:
  void Collect() {
    for (Action& action : machine.TakeActions()) actions_.push_back(std::move(action));
  }
  std::vector<Action> actions_;
};

}  // namespace muster::executor
