// Controller::Metrics: what the controller counts, in the Prometheus text format.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "control/controller.h"

namespace muster::control {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  void Counter(std::string name, std::string help, double value) {
    New(MetricType::Counter, std::move(name), std::move(help));
    Add("", "", value);
  }
  void Gauge(std::string name, std::string help, double value) {
    New(MetricType::Gauge, std::move(name), std::move(help));
    Add("", "", value);
  }
  void New(MetricType type, std::string name, std::string help) {
    families_.push_back({std::move(name), std::move(help), type, {}});
  }
  void Add(std::string label, std::string_view word, double value) {
    ClientMetric metric;
    if (!label.empty()) metric.label.push_back({std::move(label), std::string(word)});
    if (families_.back().type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    families_.back().metric.push_back(std::move(metric));
  }
  std::string Render() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

}  // namespace

std::string Controller::Metrics() const {
  Families families;
  TaskCounts now;
  for (JobId id : state_.ListJobs(std::nullopt, std::nullopt, 10'000)) {
    auto view = state_.ViewJob(id);
    if (!view) continue;
    now.waiting += view->counts.waiting;
    now.ready += view->counts.ready;
    now.held += view->counts.held;
    now.active += view->counts.active;
    now.running += view->counts.running;
  }
  families.New(MetricType::Gauge, "muster_tasks", "Tasks of active jobs by state");
  families.Add("state", "waiting", static_cast<double>(now.waiting));
  families.Add("state", "ready", static_cast<double>(now.ready));
  families.Add("state", "held", static_cast<double>(now.held));
  families.Add("state", "active", static_cast<double>(now.active));
  families.Gauge("muster_tasks_running", "Active tasks whose process runs",
                 static_cast<double>(now.running));
  families.New(MetricType::Counter, "muster_tasks_ended_total", "Tasks ended since start, by reason");
  for (int i = 0; i < kEndKinds; ++i) {
    families.Add("reason", ToString(static_cast<EndKind>(i)),
                 static_cast<double>(counters_.tasks_ended[static_cast<size_t>(i)]));
  }
  families.New(MetricType::Counter, "muster_attempts_ended_total",
               "Attempts ended since start, by reason");
  for (int i = 0; i < kEndKinds; ++i) {
    families.Add("reason", ToString(static_cast<EndKind>(i)),
                 static_cast<double>(counters_.attempts_ended[static_cast<size_t>(i)]));
  }
  families.Counter("muster_jobs_submitted_total", "Jobs accepted since start",
                   static_cast<double>(counters_.jobs_submitted));
  families.Counter("muster_retries_total", "Attempts that follow an earlier one",
                   static_cast<double>(counters_.retries));
  families.Counter("muster_attempts_may_overlap_total",
                   "Attempts begun while an earlier one might still have run",
                   static_cast<double>(counters_.may_overlap));
  families.Gauge("muster_jobs_active", "Jobs that have not ended",
                 static_cast<double>(state_.jobs_active()));
  families.Gauge("muster_executors_connected", "Executors with an open connection",
                 static_cast<double>(sessions_.connected()));
  families.Counter("muster_executor_frames_in_total", "Frames from executors",
                   static_cast<double>(sessions_.frames_in()));
  families.Counter("muster_executor_frames_out_total", "Frames to executors",
                   static_cast<double>(sessions_.frames_out()));
  families.Counter("muster_cluster_calls_total", "Calls to clusters",
                   static_cast<double>(launches_.calls()));
  families.Counter("muster_cluster_call_failures_total", "Calls to clusters that failed",
                   static_cast<double>(launches_.failures()));
  families.Counter("muster_passes_total", "Passes of the core",
                   static_cast<double>(counters_.passes));
  families.Counter("muster_inputs_total", "Inputs decided on", static_cast<double>(counters_.inputs));
  families.Counter("muster_facts_total", "Facts journaled", static_cast<double>(counters_.facts));
  families.Counter("muster_snapshots_total", "Snapshots taken",
                   static_cast<double>(counters_.snapshots));
  families.Counter("muster_journal_write_failures_total", "Appends that the disk refused",
                   static_cast<double>(counters_.write_failures));
  families.Gauge("muster_effects_waiting_durable", "Effects that wait for the disk",
                 static_cast<double>(effect_queue_.waiting()));
  families.Gauge("muster_watchers", "Open job watches", static_cast<double>(watchers_.size()));
  families.Gauge("muster_state_bytes", "Memory of the state", static_cast<double>(state_.MemoryBytes()));
  families.Gauge("muster_quarantined_tasks", "Tasks set aside after a contradiction in the journal",
                 static_cast<double>(state_.quarantined()));
  families.Gauge("muster_epoch", "Epoch of this controller", static_cast<double>(epoch_));
  return families.Render();
}

}  // namespace muster::control
