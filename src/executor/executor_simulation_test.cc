// ExecutorMachine against a model controller over a network that cuts, loses, doubles and reorders:
// one seed drives everything.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/random.h"
#include "executor/executor_machine.h"
#include "executor/machine_driver.h"
#include "wire/executor.pb.h"

namespace muster::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLease = seconds(30);
constexpr uint64_t kPlain = 1;
constexpr uint64_t kWithOut = 2;

enum class TaskPhase { kUnsent, kSent, kRecalling, kEnded, kPublished, kSuperseded };
struct ModelTask {
  TaskPhase phase = TaskPhase::kUnsent;
  uint32_t send = 0;
  bool has_out = false;
  int32_t reported_code = -1;
};
struct Program {
  uint64_t starts = 0;
  int32_t code = 0;
  bool running = false;
  bool said_started = false;
  BootTime ends;
};

// The world begins with faults: its first contact may take long.
ContactRules Rules() {
  ContactRules rules;
  rules.leave_unwelcomed = std::chrono::hours(1);
  return rules;
}

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), d_(Driver::Identity(1000 * (1 + random_.Below(4))), Rules()) {
    uint64_t count = 20 + random_.Below(40);
    for (uint64_t task = 1; task <= count; ++task) {
      tasks_[static_cast<uint32_t>(task)].has_out = random_.Percent(40);
    }
  }

  void Run() {
    for (int step = 0; step < 1500; ++step) Step();
    faults_ = false;
    for (int step = 0; step < 20000 && !AllDone(); ++step) Step();
    ASSERT_TRUE(AllDone()) << Describe();
    CheckResults();
    Drain();
  }

  uint64_t cuts = 0, losses = 0, doubles = 0, swaps = 0, drops = 0, epochs = 0, resends = 0;

 private:
  bool Fault(unsigned percent) { return faults_ && random_.Percent(percent); }

  void Step() {
    d_.Pass(milliseconds(random_.Below(Fault(2) ? 40'000 : 400)));
    if (!connected_ && random_.Percent(30)) Connect();
    if (connected_ && Fault(4)) Cut();
    if (Fault(1)) {
      ++epochs;
      ++d_.epoch;
      if (connected_) Cut();
    }
    if (welcomed_) ControllerActs();
    while (connected_) {
      auto batch = d_.Take();
      if (!batch) break;
      NoteDropped(*batch);
      to_controller_.push_back(std::move(*batch));
    }
    CarryOut();
    RunPrograms();
    Deliver();
    CarryOut();
  }

  void Connect() {
    connected_ = true;
    d_.machine.OnConnected(d_.now);
  }
  void Cut() {
    ++cuts;
    connected_ = welcomed_ = false;
    to_executor_.clear();
    to_controller_.clear();
    d_.machine.OnDisconnected(d_.now);
  }

  void Deliver() {
    for (uint64_t n = random_.Below(4); n > 0 && connected_ && !to_controller_.empty(); --n) {
      v1::FromExecutor batch = std::move(to_controller_.front());
      to_controller_.pop_front();
      ControllerHears(batch);
    }
    if (to_executor_.size() > 1 && Fault(10)) {
      ++swaps;
      std::swap(to_executor_[0], to_executor_[random_.Below(to_executor_.size())]);
    }
    for (uint64_t n = random_.Below(4); n > 0 && connected_ && !to_executor_.empty(); --n) {
      v1::FromController message = to_executor_.front();
      if (Fault(10)) {
        ++doubles;
      } else {
        to_executor_.pop_front();
      }
      if (message.has_welcome() || !Fault(5)) {
        if (message.heartbeat_echo_us() > 0) {
          granted_ = std::max(granted_, BootTime{message.heartbeat_echo_us()} + kLease);
        }
        if (message.has_welcome()) granted_ = std::max(granted_, hello_sent_ + kLease);
        d_.Send(message);
      } else {
        ++losses;
      }
      CarryOut();
    }
  }

  void NoteDropped(const v1::FromExecutor& batch) {
    if (batch.has_hello()) hello_sent_ = d_.now.boot;
    for (const auto& ref : batch.dropped()) {
      ++drops;
      // The promise itself: what is called dropped with this send has not started, and will not.
      uint32_t& highest = dropped_[ref.task()];
      highest = std::max(highest, ref.send());
      if (programs_[ref.task()].starts > 0) {
        EXPECT_LT(ref.send(), started_send_[ref.task()]) << "task " << ref.task();
      }
    }
    for (const auto& ref : batch.unknown()) {
      if (programs_[ref.task()].starts == 0) {
        uint32_t& highest = dropped_[ref.task()];
        highest = std::max(highest, ref.send());
      }
    }
  }

  void CarryOut() {
    for (const StartAttempt& start : d_.Actions<StartAttempt>()) {
      uint32_t task = start.attempt.task.number;
      Program& program = programs_[task];
      ++program.starts;
      EXPECT_EQ(program.starts, 1u) << "task " << task << " ran twice";
      EXPECT_LT(d_.now.boot, granted_) << "started without a lease";
      const HeldAttempt& held = d_.machine.attempts().all().at(start.attempt);
      started_send_[task] = held.send;
      if (dropped_.contains(task)) {
        EXPECT_GT(held.send, dropped_[task]) << "task " << task;
      }
      program.running = true;
      program.code = static_cast<int32_t>(random_.Percent(70) ? 0 : 1 + random_.Below(100));
      program.ends = d_.now.boot + milliseconds(random_.Below(5000));
    }
    for (const StopRunning& stop : d_.Actions<StopRunning>()) {
      Program& program = programs_[stop.attempt.task.number];
      EXPECT_TRUE(program.running);
      program.ends = std::min(program.ends, d_.now.boot + stop.grace);
    }
    for (const PublishOutput& order : d_.Actions<PublishOutput>()) {
      EXPECT_FALSE(discarded_.contains(order.attempt.task.number));
      if (Fault(20)) {
        d_.machine.OnPublishFailed(order.attempt, order.send, 28, "rename a to b", d_.now);
      } else {
        d_.machine.OnPublished(order.attempt, order.send, d_.now);
        EXPECT_TRUE(published_.insert(order.attempt.task.number).second);
      }
    }
    for (const DiscardOutput& order : d_.Actions<DiscardOutput>()) {
      EXPECT_FALSE(published_.contains(order.attempt.task.number));
      EXPECT_TRUE(discarded_.insert(order.attempt.task.number).second);
    }
    if (!d_.Actions<CutConnection>().empty() && connected_) Cut();
    if (draining_) return;
    for (const Leave& leave : d_.Actions<Leave>()) ADD_FAILURE() << "left: " << leave.why;
  }

  void RunPrograms() {
    for (auto& [task, program] : programs_) {
      if (!program.running) continue;
      if (!program.said_started && random_.Percent(60)) {
        program.said_started = true;
        d_.Start(task);
      }
      if (program.ends > d_.now.boot) continue;
      program.running = false;
      d_.End(task, program.code);
    }
  }

  v1::FromController Begin() {
    v1::FromController message = d_.Message();
    Driver::AddTemplate(message, kPlain);
    Driver::AddTemplate(message, kWithOut).set_out_dir("out/t");
    return message;
  }
  void AddRun(v1::FromController& message, uint32_t number, ModelTask& task) {
    task.phase = TaskPhase::kSent;
    ++task.send;
    Driver::AddRun(message, number, task.send, task.has_out ? kWithOut : kPlain);
  }

  void ControllerActs() {
    v1::FromController message = Begin();
    for (auto& [number, task] : tasks_) {
      switch (task.phase) {
        case TaskPhase::kUnsent:
          if (random_.Percent(20)) AddRun(message, number, task);
          break;
        case TaskPhase::kSent:
          if (Fault(2)) {
            task.phase = TaskPhase::kRecalling;
            Driver::Name(*message.add_recalls(), number, task.send);
          }
          if (Fault(1)) {
            v1::Stop& stop = *message.add_stops();
            Driver::Name(*stop.mutable_attempt(), number, task.send);
            stop.set_grace_us(static_cast<int64_t>(random_.Below(2'000'000)));
          }
          break;
        case TaskPhase::kRecalling:
          if (random_.Percent(10)) Driver::Name(*message.add_recalls(), number, task.send);
          break;
        case TaskPhase::kEnded:
          if (random_.Percent(20)) AckAndPublish(message, number, task);
          break;
        case TaskPhase::kPublished:
        case TaskPhase::kSuperseded:
          break;
      }
    }
    if (random_.Percent(10)) message.set_send_held(true);
    to_executor_.push_back(std::move(message));
  }

  void AckAndPublish(v1::FromController& message, uint32_t number, ModelTask& task) {
    Driver::Name(*message.add_acks(), number, task.send);
    if (!task.has_out || task.reported_code != 0) return;
    if (number % 5 == 0) {
      // Another attempt of this task has won.
      task.phase = TaskPhase::kSuperseded;
      Driver::Name(*message.add_stops()->mutable_attempt(), number, task.send);
    } else {
      Driver::Name(*message.add_publishes(), number, task.send);
    }
  }

  void ControllerHears(const v1::FromExecutor& batch) {
    if (batch.has_hello()) {
      welcomed_ = true;
      to_executor_.push_back(d_.Welcome());
      for (const v1::Ended& ended : batch.hello().finished()) HearEnd(ended);
      ResendWhatIsMissing(batch.hello().held(), batch.hello().finished());
    }
    for (const v1::Ended& ended : batch.ended()) HearEnd(ended);
    for (const auto& ref : batch.dropped()) {
      ModelTask& task = tasks_.at(ref.task());
      bool awaited = task.phase == TaskPhase::kSent || task.phase == TaskPhase::kRecalling;
      if (!awaited || ref.send() != task.send) continue;
      EXPECT_EQ(programs_[ref.task()].starts, 0u) << "dropped, but started: task " << ref.task();
      task.phase = TaskPhase::kUnsent;
    }
    for (const auto& ref : batch.published()) tasks_.at(ref.task()).phase = TaskPhase::kPublished;
    if (batch.held_size() > 0) ResendWhatIsMissing(batch.held(), {});
    if (batch.has_heartbeat()) {
      v1::FromController echo = d_.Message();
      echo.set_heartbeat_echo_us(batch.heartbeat().sent_boot_us());
      to_executor_.push_back(std::move(echo));
    }
  }

  void HearEnd(const v1::Ended& ended) {
    ModelTask& task = tasks_.at(ended.attempt().task());
    if (ended.attempt().send() != task.send) return;
    EXPECT_EQ(ended.code(), programs_[ended.attempt().task()].code);
    task.reported_code = ended.code();
    if (task.phase == TaskPhase::kSent || task.phase == TaskPhase::kRecalling) {
      task.phase = TaskPhase::kEnded;
    }
  }

  // Never takes "not in the list" for "never started": it sends again with a higher number.
  template <typename HeldList, typename FinishedList>
  void ResendWhatIsMissing(const HeldList& held, const FinishedList& finished) {
    std::set<uint32_t> there;
    for (const auto& entry : held) there.insert(entry.attempt().task());
    for (const auto& entry : finished) there.insert(entry.attempt().task());
    v1::FromController message = Begin();
    for (auto& [number, task] : tasks_) {
      bool awaited = task.phase == TaskPhase::kSent || task.phase == TaskPhase::kRecalling;
      if (!awaited || there.contains(number)) continue;
      ++resends;
      AddRun(message, number, task);
    }
    to_executor_.push_back(std::move(message));
  }
  void ResendWhatIsMissing(const google::protobuf::RepeatedPtrField<v1::Held>& held,
                           std::initializer_list<v1::Ended>) {
    ResendWhatIsMissing(held, google::protobuf::RepeatedPtrField<v1::Ended>());
  }

  bool Done(const ModelTask& task) const {
    if (task.phase == TaskPhase::kPublished || task.phase == TaskPhase::kSuperseded) return true;
    return task.phase == TaskPhase::kEnded && (!task.has_out || task.reported_code != 0);
  }
  bool AllDone() const {
    for (const auto& [number, task] : tasks_) {
      if (!Done(task)) return false;
    }
    return true;
  }
  std::string Describe() const {
    std::string text;
    for (const auto& [number, task] : tasks_) {
      if (!Done(task)) {
        text += fmt::format("task {} phase {} send {}\n", number, static_cast<int>(task.phase),
                            task.send);
      }
    }
    return text;
  }

  void CheckResults() {
    for (const auto& [number, task] : tasks_) {
      EXPECT_EQ(programs_[number].starts, 1u) << "task " << number;
      EXPECT_EQ(task.reported_code, programs_[number].code);
      bool should_publish = task.has_out && task.reported_code == 0 && number % 5 != 0;
      EXPECT_EQ(published_.contains(number), should_publish) << "task " << number;
    }
  }

  // Acknowledges all again and drains: nothing may be left, and it leaves.
  void Drain() {
    draining_ = true;
    if (!connected_) Connect();
    for (int step = 0; step < 2000 && !d_.machine.left(); ++step) {
      if (welcomed_ && step % 20 == 10) {
        v1::FromController message = d_.Message();
        for (auto& [number, task] : tasks_) Driver::Name(*message.add_acks(), number, task.send);
        message.mutable_drain()->set_grace_us(1'000'000);
        to_executor_.push_back(std::move(message));
      }
      d_.Pass(milliseconds(100));
      while (connected_) {
        auto batch = d_.Take();
        if (!batch) break;
        NoteDropped(*batch);
        to_controller_.push_back(std::move(*batch));
      }
      Deliver();
    }
    EXPECT_TRUE(d_.machine.left());
    EXPECT_EQ(d_.machine.attempts().held_count(), 0u);
    EXPECT_EQ(d_.machine.attempts().finished(), 0u);
    EXPECT_EQ(d_.machine.attempts().held_hash(), 0u);
  }

  Random random_;
  Driver d_;
  bool faults_ = true;
  bool draining_ = false;
  bool connected_ = false;
  bool welcomed_ = false;
  BootTime hello_sent_;
  BootTime granted_;
  std::map<uint32_t, ModelTask> tasks_;
  std::map<uint32_t, Program> programs_;
  std::map<uint32_t, uint32_t> dropped_;       // highest send answered "dropped"
  std::map<uint32_t, uint32_t> started_send_;  // at the start
  std::set<uint32_t> published_;
  std::set<uint32_t> discarded_;
  std::deque<v1::FromController> to_executor_;
  std::deque<v1::FromExecutor> to_controller_;
};

TEST(ExecutorSimulation, NeverRunsTwiceNeverLosesAResultNeverDropsWhatStarted) {
  uint64_t cuts = 0, losses = 0, doubles = 0, swaps = 0, drops = 0, epochs = 0, resends = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.Run();
    cuts += world.cuts;
    losses += world.losses;
    doubles += world.doubles;
    swaps += world.swaps;
    drops += world.drops;
    epochs += world.epochs;
    resends += world.resends;
    if (HasFailure()) break;
  }
  std::printf("cuts %lu losses %lu doubles %lu swaps %lu drops %lu epochs %lu resends %lu\n", cuts,
              losses, doubles, swaps, drops, epochs, resends);
  for (uint64_t count : {cuts, losses, doubles, swaps, drops, epochs, resends}) {
    EXPECT_GE(count, 100u);
  }
}

}  // namespace
}  // namespace muster::executor
