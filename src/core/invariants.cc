// Recomputes every counter, index and queue from the columns. For tests and simulation.
#include <algorithm>

#include <fmt/format.h>

#include "core/apply_parts.h"
#include "core/state.h"
#include "core/state_rep.h"
#include "model/held_hash.h"

namespace muster::core {
namespace {

class Checker {
 public:
  explicit Checker(const StateRep& rep) : rep_(rep) {}

  std::string Run() {
    for (const auto& [number, job] : rep_.jobs) CheckJob(*job);
    CheckQueues();
    CheckExecutors();
    CheckPools();
    Compare("ended jobs", rep_.ended_jobs.size(), ended_jobs_);
    Compare("retries", rep_.retries.size(), retries_);
    Compare("attempts in use", rep_.attempts.size() - 1 - rep_.free_attempts.size(), slots_);
    return first_;
  }

 private:
  template <typename A, typename B>
  void Compare(const std::string& what, const A& have, const B& computed) {
    if (have == static_cast<A>(computed) || !first_.empty()) return;
    first_ = fmt::format("{}: {} kept, {} computed", what, have, computed);
  }
  void Fail(std::string what) {
    if (first_.empty()) first_ = std::move(what);
  }

  void CheckJob(const Job& job) {
    std::string name = Render(job.id);
    CodeCounts counts{};
    uint64_t waiting = 0;
    for (uint32_t s = 0; s < job.specs.size(); ++s) CheckSpec(job, s, counts, waiting);
    for (uint8_t code = 0; code < kTaskCodes; ++code) {
      Compare(fmt::format("{} count of code {}", name, code), job.counts[code], counts[code]);
    }
    Compare(name + " waiting", job.waiting, waiting);
    Compare(name + " all tasks ended", job.ended.has_value() && job.EndedTasks() != job.task_count(),
            false);
    if (job.ended) ++ended_jobs_;
    for (uint64_t executor : job.executors) ++jobs_of_[executor];
    for (uint32_t task = 1; task <= job.task_count(); ++task) CheckTask(job, task);
    if (!job.request_id.empty() && !rep_.requests.contains(job.request_id)) {
      Fail(name + ": its request id is not known");
    }
    uint32_t last = 0;
    for (const auto& [first, note] : job.notes) {
      if (first <= last) Fail(fmt::format("{}: notes overlap at {}", name, first));
      last = first + note.count - 1;
    }
  }

  void CheckSpec(const Job& job, uint32_t s, CodeCounts& total, uint64_t& waiting) {
    const SpecState& spec = job.specs[s];
    std::string name = fmt::format("{} spec {}", Render(job.id), s);
    CodeCounts counts{};
    for (uint32_t task = spec.first; task <= spec.last(); ++task) ++counts[job.codes.Get(task - 1)];
    for (uint8_t code = 0; code < kTaskCodes; ++code) total[code] += counts[code];
    CodeCounts ranked{};
    job.codes.AddCounts(spec.first - 1, spec.last(), ranked);
    Compare(name + " histogram", ranked == counts, true);
    uint64_t ended = 0;
    for (int code = kEnded; code < kTaskCodes; ++code) ended += counts[static_cast<size_t>(code)];
    Compare(name + " fresh", spec.fresh, counts[kFresh]);
    Compare(name + " again", spec.again, counts[kAgain]);
    Compare(name + " live", spec.live, counts[kActive] + counts[kRunning]);
    Compare(name + " ended", spec.ended, ended);
    Compare(name + " bad", spec.bad, ended - counts[CodeOf(EndKind::kOk)]);
    uint32_t needs = 0;
    for (uint32_t need : job.spec->tasks[s].needs) {
      const SpecState& needed = job.specs[need];
      if (needed.ended != needed.count || needed.bad > 0) ++needs;
    }
    Compare(name + " needs left", spec.needs_left, needs);
    Compare(name + " released", spec.released, needs == 0);
    if (!spec.released) waiting += counts[kFresh];
    CodeMask ready = MaskOf(kFresh) | MaskOf(kAgain);
    if (spec.cursor > spec.first &&
        job.codes.NextRun(spec.first - 1, spec.cursor - 1, ready, 1).count > 0) {
      Fail(name + ": a ready task lies before the cursor");
    }
    uint32_t offered = 0;
    if (spec.released && !rep_.HeldBack(job)) {
      offered = spec.ready();
      if (spec.cap != 0) offered = std::min(offered, spec.cap > spec.live ? spec.cap - spec.live : 0);
    }
    Compare(name + " offered", spec.offered, offered);
    // More than the cap may live when attempts were adopted; `offered` then is 0 and nothing is added.
    const ReadyClass& ready_class = *rep_.classes[spec.ready_class];
    QueueKey key{-(int64_t{job.spec->priority} + job.spec->tasks[s].priority), job.id.number, s};
    Compare(name + " in its queue", ready_class.queue.contains(key), offered > 0);
    demand_[spec.ready_class] += offered;
  }

  void CheckTask(const Job& job, uint32_t task) {
    uint8_t code = job.codes.Get(task - 1);
    std::string name = Render(TaskId{job.id, task});
    const Attempt* attempt = rep_.FindAttempt(job, task);
    bool active = code == kActive || code == kRunning;
    if (active != (attempt != nullptr)) {
      Fail(fmt::format("{}: code {} and {} attempt", name, code, attempt == nullptr ? "no" : "an"));
      return;
    }
    const Trouble* trouble = job.trouble.Find(task);
    if ((code == kBackOff || code == kAgain) && trouble == nullptr) Fail(name + ": no retry record");
    if (code >= kEnded && trouble != nullptr) Fail(name + ": ended with a retry record");
    if (code == kBackOff) {
      ++retries_;
      if (!rep_.retries.contains({trouble->not_before, {job.id, task}})) {
        Fail(name + ": its retry is not scheduled");
      }
    }
    if (attempt == nullptr) return;
    ++slots_;
    bool runs = attempt->started.us != 0 && attempt->state != AttemptState::kEnded;
    if (runs != (code == kRunning)) Fail(name + ": its code and its attempt differ in whether it runs");
    if (attempt->job != &job || attempt->task != task) Fail(name + ": its attempt is of another task");
  }

  void CheckQueues() {
    size_t open = 0;
    for (uint32_t i = 0; i < rep_.classes.size(); ++i) {
      const ReadyClass& ready_class = *rep_.classes[i];
      Compare(fmt::format("class {} demand", i), ready_class.demand, demand_[i]);
      bool listed = std::find(rep_.open_classes.begin(), rep_.open_classes.end(), i) !=
                    rep_.open_classes.end();
      Compare(fmt::format("class {} open", i), listed, !ready_class.queue.empty());
      if (!ready_class.queue.empty()) ++open;
    }
    Compare("open classes", rep_.open_classes.size(), open);
  }

  void CheckList(const Executor& executor, const AttemptList& list, bool counted, Amounts& used,
                 uint64_t& hash, uint32_t& running) {
    std::string name = Render(executor.who.executor);
    uint32_t size = 0;
    uint32_t prev = 0;
    for (uint32_t slot = list.head; slot != 0; slot = rep_.attempts[slot].next) {
      const Attempt& attempt = rep_.attempts[slot];
      if (attempt.executor != &executor || attempt.counted != counted || attempt.prev != prev ||
          attempt.state == AttemptState::kEnded) {
        return Fail(name + ": an attempt in its list does not belong there");
      }
      const SpecState& spec = attempt.job->specs[attempt.spec];
      if (counted) used.Add(rep_.classes[spec.ready_class]->need);
      hash ^= HeldHash(attempt.attempt_id(), attempt.send);
      if (attempt.started.us != 0) ++running;
      prev = slot;
      ++size;
    }
    Compare(name + " list", list.size, size);
    Compare(name + " tail", list.tail, prev);
    if (!counted) waiting_there_ += size;
  }

  void CheckExecutors() {
    for (const auto& [number, executor] : rep_.executors) {
      std::string name = Render(executor->who.executor);
      Amounts left = executor->capacity;
      Amounts used;
      uint64_t hash = 0;
      uint32_t running = 0;
      CheckList(*executor, executor->counted, true, used, hash, running);
      CheckList(*executor, executor->extra, false, used, hash, running);
      left.Subtract(used);
      auto same = [](Amounts a, Amounts b) {
        size_t size = std::max(a.named.size(), b.named.size());
        a.named.resize(size);
        b.named.resize(size);
        return a == b;
      };
      if (!same(left, executor->free)) Fail(name + ": its free room is not what its attempts leave");
      Compare(name + " held hash", executor->held_hash, hash);
      Compare(name + " running", executor->running, running);
      Compare(name + " jobs", executor->jobs, jobs_of_[number]);
    }
    Compare("attempts waiting on executors", rep_.waiting_there, waiting_there_);
  }

  void CheckPools() {
    for (uint32_t p = 0; p < rep_.pools.size(); ++p) {
      const Pool& pool = *rep_.pools[p];
      uint32_t launches = 0;
      uint32_t starting = 0;
      size_t executors = 0;
      for (const auto& [number, launch] : rep_.launches) {
        bool ended = launch.state == LaunchState::kEnded;
        if (rep_.open_launches.contains(number) == ended) Fail("open launches are not those not ended");
        if (launch.cluster != p || ended) continue;
        ++launches;
        if (!launch.registered && launch.state != LaunchState::kStopping) ++starting;
      }
      for (const auto& [number, executor] : rep_.executors) {
        if (executor->cluster == p && executor->state != ExecutorState::kGone) ++executors;
      }
      Compare(pool.name + " launches", pool.launches, launches);
      Compare(pool.name + " starting", pool.starting, starting);
      Compare(pool.name + " executors", pool.executors.size(), executors);
    }
  }

  const StateRep& rep_;
  std::string first_;
  std::map<uint32_t, uint64_t> demand_;
  std::map<uint64_t, uint32_t> jobs_of_;
  uint64_t ended_jobs_ = 0;
  uint64_t retries_ = 0;
  uint64_t slots_ = 0;
  uint64_t waiting_there_ = 0;
};

}  // namespace

std::string State::CheckInvariants() const { return Checker(*rep_).Run(); }

}  // namespace muster::core
