// Which keys each view has in JSON: one list for writing and reading, so that they cannot differ.
// `v(key, field)` is called for each field in the order of the JSON.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/view.h"
#include "wire/api_json.h"

namespace muster::fields {

// A list of named texts, written as an object.
struct Pairs {
  std::vector<std::pair<std::string, std::string>>& value;
};
// Counts by EndKind, written as an object of those that are not 0.
struct ByEndKind {
  std::array<uint64_t, kEndKinds>& value;
};

template <typename V>
void Visit(V& v, EndReason& reason) {
  v("kind", reason.kind);
  v("number", reason.number);
  v("detail", reason.detail);
  v("unconfirmed", reason.unconfirmed);
  v.Derived("text", [&] { return Render(reason); });
  v.Derived("retry_class", [&] { return std::string(ToString(RetryClassOf(reason))); });
}

template <typename V>
void Visit(V& v, ExitFacts& facts) {
  v("how", facts.how);
  v("code", facts.code);
  v("what_failed", facts.what_failed);
  v("stop_cause", facts.stop_cause);
  v("started", facts.started);
  v("wall_us", facts.wall);
  v("user_cpu_us", facts.user_cpu);
  v("system_cpu_us", facts.system_cpu);
  v("max_rss_bytes", facts.max_rss);
  v("left_behind", facts.left_behind);
  v("output_bytes", facts.output_bytes);
  v("output_dropped_bytes", facts.output_dropped);
}

template <typename V>
void Visit(V& v, std::pair<std::string, uint64_t>& named) {
  v("name", named.first);
  v("amount", named.second);
}

template <typename V>
void Visit(V& v, Resources& resources) {
  v("milli_cpus", resources.cpus);
  v("memory_bytes", resources.memory);
  v("gpus", resources.gpus);
  v("named", resources.named);
}

template <typename V>
void Visit(V& v, RetryBudgets& retries) {
  v("user", retries.user);
  v("oom", retries.oom);
  v("infrastructure", retries.infrastructure);
}

template <typename V>
void Visit(V& v, TaskCounts& counts) {
  v("waiting", counts.waiting);
  v("ready", counts.ready);
  v("held", counts.held);
  v("active", counts.active);
  v("running", counts.running);
  ByEndKind ended{counts.ended};
  v("ended", ended);
  v.Derived("total", [&] { return counts.total(); });
  v.Derived("ok", [&] { return counts.ok(); });
  v.Derived("failed", [&] { return counts.failed(); });
  v.Derived("cancelled", [&] { return counts.cancelled(); });
}

template <typename V>
void Visit(V& v, JobView::SpecView& spec) {
  v("name", spec.name);
  v("first_task", spec.first_task);
  v("count", spec.count);
  v("counts", spec.counts);
  v("leaf", spec.leaf);
}

template <typename V>
void Visit(V& v, JobView& job) {
  v("id", job.id);
  v("name", job.name);
  v("owner", job.owner);
  v("cwd", job.cwd);
  v("cluster", job.cluster);
  v("priority", job.priority);
  v("submitted", job.submitted);
  v("first_started", job.first_started);
  v("ended", job.ended);
  v("cancel_requested", job.cancel_requested);
  v("counts", job.counts);
  v("attempts", job.attempts);
  v("first_failure", job.first_failure);
  v("tasks", job.specs);
}

template <typename V>
void Visit(V& v, AttemptView& attempt) {
  v("id", attempt.id);
  v("state", attempt.state);
  v("executor", attempt.executor);
  v("host", attempt.host);
  v("send", attempt.send);
  v("planned", attempt.planned);
  v("started", attempt.started);
  v("ended", attempt.ended);
  v("reason", attempt.reason);
  v("facts", attempt.facts);
  v("pid", attempt.pid);
  v("accepted", attempt.accepted);
  v("may_overlap", attempt.may_overlap);
}

template <typename V>
void Visit(V& v, WhyView& why) {
  v("task", why.task);
  v("cause", why.cause);
  v("sentence", why.sentence);
  Pairs figures{why.figures};
  v("figures", figures);
}

template <typename V>
void Visit(V& v, TaskView& task) {
  v("id", task.id);
  v("name", task.name);
  v("position", task.position);
  v("index", task.index);
  v("item", task.item);
  v("state", task.state);
  v("reason", task.reason);
  v("attempts", task.attempts);
  v("retry_at", task.retry_at);
  v("last_attempt", task.last_attempt);
}

template <typename V>
void Visit(V& v, TaskDetail& detail) {
  v("task", detail.task);
  v("command", detail.command);
  v("cwd", detail.cwd);
  v("request", detail.request);
  v("memory_limit_bytes", detail.memory_limit);
  v("time_limit_us", detail.time_limit);
  v("retries", detail.retries);
  v("attempts", detail.attempts);
  v("why", detail.why);
}

template <typename V>
void Visit(V& v, ExecutorView& executor) {
  v("id", executor.id);
  v("launch", executor.launch);
  v("cluster", executor.cluster);
  v("host", executor.host);
  v("pid", executor.pid);
  v("state", executor.state);
  v("in_contact", executor.in_contact);
  v("registered", executor.registered);
  v("capacity", executor.capacity);
  v("free", executor.free);
  v("held", executor.held);
  v("running", executor.running);
  v("gone_why", executor.gone_why);
}

template <typename V>
void Visit(V& v, ServerView& server) {
  v("version", server.version);
  v("store_id", server.store_id);
  v("epoch", server.epoch);
  v("pid", server.pid);
  v("started", server.started);
  v("jobs_active", server.jobs_active);
  v("state_dir", server.state_dir);
}

template <typename V, typename T>
void Visit(V& v, Page<T>& page) {
  v("items", page.items);
  v("next", page.next);
  v("total", page.total);
}

template <typename V>
void Visit(V& v, SpecProblem& problem) {
  v("path", problem.path);
  v("message", problem.message);
  v("suggestion", problem.suggestion);
  v("line", problem.line);
  v("column", problem.column);
}

template <typename V>
void Visit(V& v, ApiError& failed) {
  v("code", failed.error.code);
  v("owner", failed.error.owner);
  v("message", failed.error.message);
  v("their_words", failed.error.their_words);
  v("problems", failed.problems);
  v.Derived("status", [&] { return static_cast<uint64_t>(ToHttpStatus(failed.error.code)); });
}

}  // namespace muster::fields
