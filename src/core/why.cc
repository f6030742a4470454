// Why a task is where it is: exactly one cause, with the figures it was decided by.
#include <algorithm>

#include <fmt/format.h>

#include "core/state.h"
#include "core/turn.h"

namespace muster::core {
namespace {

std::string Seconds(Duration duration) {
  int64_t tenths = std::max<int64_t>(0, duration.count()) / 100000;
  if (tenths < 100) return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  return fmt::format("{} s", tenths / 10);
}

std::string Plural(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string Room(const Amounts& amounts) {
  return fmt::format("{} cpus, {}", Render(MilliCpu{static_cast<uint64_t>(std::max<int64_t>(0, amounts.milli_cpus))}),
                     Render(Bytes{static_cast<uint64_t>(std::max<int64_t>(0, amounts.memory))}));
}

std::string Asked(const Resources& request) {
  std::string words = Render(request.cpus) + " cpus";
  if (request.memory.value != 0) words += ", " + Render(request.memory);
  if (request.gpus != 0) words += ", " + Plural(request.gpus, "gpu");
  for (const auto& [name, amount] : request.named) words += fmt::format(", {} {}", amount, name);
  return words;
}

class Explainer {
 public:
  Explainer(const StateRep& rep, const Job& job, uint32_t task, Now now)
      : rep_(rep), job_(job), task_(task), spec_index_(job.SpecOf(task)),
        spec_(job.specs[spec_index_]), task_spec_(job.spec->tasks[spec_index_]), now_(now) {
    view_.task = {job.id, task};
  }

  WhyView Run() {
    uint8_t code = job_.codes.Get(task_ - 1);
    if (code >= kEnded) {
      Ended();
    } else if (code == kSetAside) {
      SetAsideTask();
    } else if (code == kActive || code == kRunning) {
      Active();
    } else if (!spec_.released) {
      Dependency();
    } else if (code == kBackOff) {
      BackOffTask();
    } else {
      Ready();
    }
    return std::move(view_);
  }

 private:
  void Say(WhyCause cause, std::string sentence) {
    view_.cause = cause;
    view_.sentence = std::move(sentence);
  }
  template <typename T>
  void Figure(std::string name, const T& value) {
    view_.figures.emplace_back(std::move(name), fmt::format("{}", value));
  }
  Duration Since(WallTime time) const { return now_.wall - time; }

  void Ended() {
    EndReason reason = ReasonOf(job_, task_);
    std::string sentence = "ended: " + Render(reason);
    Figure("reason", Render(reason));
    if (std::optional<EndedAttempt> last = LastAccepted(job_, task_)) {
      Figure("attempt", last->n);
      Figure("executor", Render(last->executor));
      sentence += fmt::format(" in attempt {} on {}", last->n, Render(last->executor));
      if (last->facts.how != ExitFacts::How::kLost) {
        Figure("wall", Render(last->facts.wall));
        Figure("max-rss", Render(last->facts.max_rss));
        Figure("code", last->facts.code);
        sentence += fmt::format(" after {}, at most {}", Render(last->facts.wall),
                                Render(last->facts.max_rss));
      }
      if (last->may_overlap) sentence += fmt::format("; may overlap #{}", last->n - 1);
      if (last->facts.output_dropped != 0) {
        Figure("output-dropped", last->facts.output_dropped);
        sentence += fmt::format("; {} bytes of its output were not kept", last->facts.output_dropped);
      }
    }
    Say(WhyCause::kEnded, std::move(sentence));
  }

  void SetAsideTask() {
    auto it = rep_.set_aside.find({job_.id, task_});
    std::string what = it == rep_.set_aside.end() ? "" : it->second;
    Figure("fault", what);
    Say(WhyCause::kHold, fmt::format("set aside after a fault of muster itself ({}); `muster cancel {}` "
                                     "ends it", what, Render(view_.task)));
  }

  void Dependency() {
    std::string names;
    uint64_t open = 0;
    uint64_t needs = 0;
    for (uint32_t need : task_spec_.needs) {
      const SpecState& needed = job_.specs[need];
      uint64_t left = needed.count - needed.ended;
      if (left == 0) continue;
      open += left;
      if (++needs <= 3) {
        names += fmt::format("{}{} ({} of {} still to end)", needs == 1 ? "" : ", ",
                             job_.spec->tasks[need].name, left, needed.count);
      }
    }
    if (needs > 3) names += fmt::format(" and {} more", needs - 3);
    Figure("needs", needs);
    Figure("tasks-left", open);
    Say(WhyCause::kDependency, "waits for " + names);
  }

  void BackOffTask() {
    const Trouble& trouble = *job_.trouble.Find(task_);
    Duration left = trouble.not_before - now_.wall;
    RetryClass retry_class = RetryClassOf(LastReason());
    uint32_t budget = BudgetOf(retry_class, task_spec_.retries);
    uint32_t used = trouble.charges[static_cast<size_t>(retry_class)];
    Figure("attempt", trouble.ended + 1);
    Figure("seconds-left", Seconds(left));
    Figure("reason", Render(LastReason()));
    Figure("retries-used", used);
    Figure("retries", budget);
    Say(WhyCause::kBackOff,
        fmt::format("attempt {} starts in {}: attempt {} ended {} (retry {} of {} of class {})",
                    trouble.ended + 1, Seconds(left), trouble.ended, Render(LastReason()), used,
                    budget, ToString(retry_class)));
  }

  EndReason LastReason() const {
    std::optional<EndedAttempt> row = LastAccepted(job_, task_);
    return row ? row->reason : EndReason{};
  }

  void Active() {
    const Attempt* attempt = rep_.FindAttempt(job_, task_);
    if (attempt == nullptr) return Say(WhyCause::kNotPlaced, "will be looked at in this pass");
    const Executor& executor = *attempt->executor;
    Figure("executor", Render(executor.who.executor));
    Figure("attempt", attempt->n);
    if (attempt->state == AttemptState::kEnded) return BeingPublished(*attempt);
    if (!executor.connected) return ContactLost(*attempt);
    switch (attempt->state) {
      case AttemptState::kStopping: return Stopping(*attempt);
      case AttemptState::kRunning: return Running(*attempt);
      default: return Sent(*attempt);
    }
  }

  void BeingPublished(const Attempt& attempt) {
    std::string sentence = "succeeded; its output is being published";
    auto it = rep_.live.publishing.find(view_.task);
    if (it != rep_.live.publishing.end()) {
      const Publishing& publishing = it->second;
      Figure("tries", publishing.tries);
      if (publishing.again) {
        Figure("seconds-left", Seconds(*publishing.again - now_.wall));
        sentence += fmt::format(": try {} failed, the next is in {}", publishing.tries,
                                Seconds(*publishing.again - now_.wall));
      } else if (publishing.asked) {
        sentence += " by " + Render(publishing.executor);
      } else {
        sentence += ": waits for an executor of the cluster";
      }
    }
    Figure("since", Seconds(Since(attempt.ended)));
    Say(WhyCause::kPublishing, sentence + fmt::format(", since {}", Seconds(Since(attempt.ended))));
  }

  void ContactLost(const Attempt& attempt) {
    const Executor& executor = *attempt.executor;
    Duration silent = now_.boot - executor.heard;
    Duration left = kLease + kLeaseMargin - silent;
    Figure("silent", Seconds(silent));
    std::string sentence = fmt::format("{} on {} is out of contact for {}",
                                       Render(executor.who.executor), executor.who.host,
                                       Seconds(silent));
    if (attempt.state == AttemptState::kStopping) {
      Figure("stopping-since", Seconds(Since(attempt.stopping)));
      sentence += fmt::format("; cancel was asked {} ago and is unconfirmed until it is back or proven "
                              "dead (`muster cancel --abandon` ends the task now)",
                              Seconds(Since(attempt.stopping)));
    } else if (spec_.once) {
      sentence += "; it must not run twice: it waits until the executor is back or proven dead";
    } else {
      Figure("seconds-left", Seconds(left));
      sentence += fmt::format("; it is tried elsewhere in {} unless the executor is back", Seconds(left));
    }
    Say(WhyCause::kContactLost, std::move(sentence));
  }

  void Stopping(const Attempt& attempt) {
    Figure("since", Seconds(Since(attempt.stopping)));
    Figure("grace", Render(task_spec_.grace));
    Say(WhyCause::kStopping,
        fmt::format("is being stopped on {} since {} (grace {})",
                    Render(attempt.executor->who.executor), Seconds(Since(attempt.stopping)),
                    Render(task_spec_.grace)));
  }

  void Running(const Attempt& attempt) {
    Figure("pid", attempt.pid);
    Figure("since", Seconds(Since(attempt.started)));
    std::string sentence =
        fmt::format("attempt {} runs on {} ({}, process {}) since {}", attempt.n,
                    Render(attempt.executor->who.executor), attempt.executor->who.host, attempt.pid,
                    Seconds(Since(attempt.started)));
    if (task_spec_.time_limit) {
      Figure("time-limit", Render(*task_spec_.time_limit));
      sentence += fmt::format(", time limit {}", Render(*task_spec_.time_limit));
    }
    if (attempt.may_overlap) sentence += fmt::format("; may overlap #{}", attempt.n - 1);
    Say(WhyCause::kRunning, std::move(sentence));
  }

  void Sent(const Attempt& attempt) {
    const Executor& executor = *attempt.executor;
    Figure("since", Seconds(Since(attempt.planned)));
    Figure("held", executor.held());
    std::string sentence;
    if (attempt.state == AttemptState::kRecalling) {
      sentence = fmt::format("is being taken back from {}, where it waits behind others",
                             Render(executor.who.executor));
    } else if (attempt.counted) {
      sentence = fmt::format("is on its way to {}", Render(executor.who.executor));
    } else {
      sentence = fmt::format("waits on {} for a slot, one of {} held there",
                             Render(executor.who.executor), executor.held());
    }
    Say(WhyCause::kSent, sentence + fmt::format(", since {}", Seconds(Since(attempt.planned))));
  }

  void Ready();
  void HeldBack();
  void NoExecutor(const Pool& pool);
  void NoRoom(const Pool& pool, const ReadyClass& ready_class);
  uint64_t TasksBefore(const ReadyClass& ready_class) const;

  const StateRep& rep_;
  const Job& job_;
  uint32_t task_;
  uint32_t spec_index_;
  const SpecState& spec_;
  const TaskSpec& task_spec_;
  Now now_;
  WhyView view_;
};

void Explainer::Ready() {
  if (rep_.HeldBack(job_)) return HeldBack();
  if (spec_.cap != 0 && spec_.live >= spec_.cap) {
    Figure("cap", spec_.cap);
    Figure("running", spec_.live);
    return Say(WhyCause::kArrayCap, fmt::format("{} of array '{}' run, its cap is {}", spec_.live,
                                                task_spec_.name, spec_.cap));
  }
  const Pool& pool = *rep_.pools[job_.cluster];
  const ReadyClass& ready_class = *rep_.classes[spec_.ready_class];
  bool any = false;
  bool fits_whole = false;
  bool fits_now = false;
  for (const Executor* executor : pool.executors) {
    if (executor->state != ExecutorState::kServing || !executor->connected) continue;
    any = true;
    fits_whole = fits_whole || FitCount(executor->capacity, ready_class.need, 1) == 1;
    fits_now = fits_now || (executor->extra.size == 0 && FitCount(executor->free, ready_class.need, 1) == 1);
  }
  if (!any) return NoExecutor(pool);
  if (fits_whole && !fits_now) return NoRoom(pool, ready_class);
  if (!fits_whole) {
    std::string largest;
    const Executor* best = nullptr;
    for (const Executor* executor : pool.executors) {
      if (best == nullptr || executor->capacity.milli_cpus > best->capacity.milli_cpus) best = executor;
    }
    Figure("asked", Asked(task_spec_.request));
    Figure("largest", Room(best->capacity));
    Figure("starting", pool.starting);
    return Say(WhyCause::kSize,
               fmt::format("asks for {}, the largest of {} of '{}' has {}; {} starting",
                           Asked(task_spec_.request), Plural(pool.executors.size(), "executor"),
                           pool.name, Room(best->capacity), pool.starting));
  }
  uint64_t before = TasksBefore(ready_class);
  Figure("before", before);
  Say(WhyCause::kNotPlaced, fmt::format("will be placed in this pass, {} before it", Plural(before, "task")));
}

void Explainer::HeldBack() {
  Duration left = rep_.live.started + (kLease + kLeaseMargin) - now_.boot;
  std::string names;
  uint64_t missing = 0;
  for (const auto& [id, executor] : rep_.executors) {
    if (executor->state == ExecutorState::kGone || executor->connected) continue;
    if (++missing <= 3) names += (missing == 1 ? "" : ", ") + Render(executor->who.executor);
  }
  Figure("executors-missing", missing);
  Figure("seconds-left", Seconds(left));
  Say(WhyCause::kHold,
      fmt::format("held back after a power cut: {} ({}) may hold it and has {} more to report",
                  Plural(missing, "executor"), names, Seconds(left)));
}

void Explainer::NoExecutor(const Pool& pool) {
  std::string sentence = fmt::format("no executor of '{}' is up", pool.name);
  uint64_t silent = 0;
  for (const Executor* executor : pool.executors) {
    if (!executor->connected) ++silent;
  }
  if (silent > 0) {
    Figure("out-of-contact", silent);
    sentence += fmt::format(": {} out of contact", Plural(silent, "executor"));
  }
  if (pool.starting > 0) {
    WallTime oldest = now_.wall;
    for (uint64_t number : rep_.open_launches) {
      const Launch& launch = rep_.launches.at(number);
      if (rep_.pools[launch.cluster].get() == &pool && !launch.registered) {
        oldest = std::min(oldest, launch.planned.at);
      }
    }
    Figure("starting", pool.starting);
    Figure("since", Seconds(Since(oldest)));
    sentence += fmt::format("; {} starting since {}", pool.starting, Seconds(Since(oldest)));
  }
  if (pool.failures > 0) {
    Figure("failed-starts", pool.failures);
    Figure("last-words", pool.last_words);
    sentence += fmt::format("; {} failed in a row, the last: {}", Plural(pool.failures, "start"),
                            pool.last_words);
    if (auto next = NextStart(pool); next && pool.starting == 0) {
      Figure("next-start", Seconds(*next - now_.wall));
      sentence += fmt::format("; {}next try in {}",
                              pool.failures >= kStartsBeforeGivingUp ? "given up for now, " : "",
                              Seconds(*next - now_.wall));
    }
  }
  if (!pool.settings) {
    sentence += "; this cluster is not configured";
  } else if (pool.settings->pool_max == 0) {
    sentence += "; its pool may have none (max: 0)";
  }
  Say(WhyCause::kNoExecutor, std::move(sentence));
}

uint64_t Explainer::TasksBefore(const ReadyClass& ready_class) const {
  uint64_t before = 0;
  for (const auto& [key, job] : ready_class.queue) {
    if (job == &job_ && key.spec == spec_index_) break;
    before += job->specs[key.spec].offered;
  }
  CodeCounts counts{};
  job_.codes.AddCounts(spec_.first - 1, task_ - 1, counts);
  return before + counts[kFresh] + counts[kAgain];
}

void Explainer::NoRoom(const Pool& pool, const ReadyClass& ready_class) {
  const Executor* best = nullptr;
  for (const Executor* executor : pool.executors) {
    if (executor->state != ExecutorState::kServing || !executor->connected) continue;
    if (best == nullptr || executor->free.milli_cpus > best->free.milli_cpus) best = executor;
  }
  uint64_t before = TasksBefore(ready_class);
  Figure("asked", Asked(task_spec_.request));
  Figure("free", Room(best->free));
  Figure("executor", Render(best->who.executor));
  Figure("held", best->held());
  Figure("before", before);
  Figure("starting", pool.starting);
  Say(WhyCause::kNoRoom,
      fmt::format("all {} of '{}' are full: asks for {}, {} has {} free and holds {}; {} before it{}",
                  Plural(pool.executors.size(), "executor"), pool.name, Asked(task_spec_.request),
                  Render(best->who.executor), Room(best->free), Plural(best->held(), "attempt"),
                  Plural(before, "task"),
                  pool.starting == 0 ? "" : fmt::format("; {} starting", Plural(pool.starting, "executor"))));
}

}  // namespace

std::optional<WhyView> State::Why(TaskId task, Now now) const {
  const Job* job = rep_->FindJob(task.job);
  if (job == nullptr || task.number == 0 || task.number > job->task_count()) return std::nullopt;
  return Explainer(*rep_, *job, task.number, now).Run();
}

}  // namespace muster::core
