// Jobs in the API's JSON: written here, read by wire/spec_reader.h.
#include "wire/api_json.h"
#include "wire/doc_tree.h"
#include "wire/item_source.h"
#include "wire/json_writer.h"
#include "wire/named_texts.h"
#include "wire/spec_reader.h"

namespace muster {
namespace {

void PutTexts(const std::vector<std::string>& texts, JsonWriter& json) {
  json.BeginList();
  for (const std::string& text : texts) json.Text(text);
  json.EndList();
}

void PutEnv(const std::vector<std::pair<std::string, std::string>>& env, JsonWriter& json) {
  if (env.empty()) return;
  json.Key("env");
  PutNamedTexts(env, json);
}

void PutKeyText(std::string_view key, std::string_view text, JsonWriter& json) {
  json.Key(key);
  json.Text(text);
}

void PutKeyWhole(std::string_view key, int64_t number, JsonWriter& json) {
  json.Key(key);
  json.Whole(number);
}

void PutCommand(const Command& command, JsonWriter& json) {
  json.Key("command");
  if (const auto* shell = std::get_if<ShellCommand>(&command)) {
    json.Text(shell->text);
  } else {
    PutTexts(std::get<ExecCommand>(command).argv, json);
  }
}

void PutEach(const TaskSpec& task, JsonWriter& json) {
  if (const auto* range = std::get_if<IndexRange>(&task.each)) {
    PutKeyText("array", RenderArrayText(*range, task.array_cap), json);
    return;
  }
  if (const auto* items = std::get_if<ItemList>(&task.each)) {
    json.Key("items");
    json.BeginList();
    for (size_t i = 0; i < items->size(); ++i) json.Text((*items)[i]);
    json.EndList();
  }
  if (task.array_cap != 0) PutKeyWhole("cap", task.array_cap, json);
}

void PutResources(const TaskSpec& task, const TaskSpec& plain, JsonWriter& json) {
  if (task.request.cpus != plain.request.cpus) {
    PutKeyText("cpus", Render(task.request.cpus), json);
  }
  if (task.memory_limit) {
    json.Key("memory");
    json.BeginObject();
    PutKeyText("request", Render(task.request.memory), json);
    PutKeyText("limit", Render(*task.memory_limit), json);
    json.EndObject();
  } else if (task.request.memory.value != 0) {
    PutKeyText("memory", Render(task.request.memory), json);
  }
  if (task.request.gpus != 0) PutKeyWhole("gpus", task.request.gpus, json);
  if (task.request.named.empty()) return;
  json.Key("resources");
  json.BeginObject();
  for (const auto& [name, amount] : task.request.named) {
    json.Key(name);
    json.Whole(amount);
  }
  json.EndObject();
}

void PutPolicy(const TaskSpec& task, const TaskSpec& plain, JsonWriter& json) {
  if (task.time_limit) PutKeyText("time", Render(*task.time_limit), json);
  if (task.needs_time) PutKeyText("needs-time", Render(*task.needs_time), json);
  if (task.grace != plain.grace) PutKeyText("grace", Render(task.grace), json);
  if (task.retries != plain.retries) {
    json.Key("retries");
    json.BeginObject();
    PutKeyWhole("user", task.retries.user, json);
    PutKeyWhole("oom", task.retries.oom, json);
    PutKeyWhole("infrastructure", task.retries.infrastructure, json);
    json.EndObject();
  }
  if (task.lane != plain.lane) {
    PutKeyText("lane", task.lane == Lane::kPooled ? "pooled" : "own", json);
  }
  if (task.once) {
    json.Key("once");
    json.Bool(true);
  }
  if (!task.category.empty()) PutKeyText("category", task.category, json);
  if (task.priority != 0) PutKeyWhole("priority", task.priority, json);
}

void PutTask(const JobSpec& job, const TaskSpec& task, const TaskSpec& plain, JsonWriter& json) {
  json.BeginObject();
  PutKeyText("name", task.name, json);
  PutCommand(task.command, json);
  PutEnv(task.env, json);
  if (!task.cwd.empty()) PutKeyText("cwd", task.cwd, json);
  PutEach(task, json);
  PutResources(task, plain, json);
  PutPolicy(task, plain, json);
  if (!task.needs.empty()) {
    json.Key("needs");
    json.BeginList();
    for (uint32_t need : task.needs) json.Text(job.tasks[need].name);
    json.EndList();
  }
  if (!task.inputs.empty()) {
    json.Key("inputs");
    PutTexts(task.inputs, json);
  }
  json.EndObject();
}

}  // namespace

std::string JobSpecToJson(const JobSpec& job) {
  const TaskSpec plain;
  JsonWriter json;
  json.BeginObject();
  PutKeyText("name", job.name, json);
  PutKeyText("cwd", job.cwd, json);
  if (!job.cluster.empty()) PutKeyText("cluster", job.cluster, json);
  if (job.priority != 0) PutKeyWhole("priority", job.priority, json);
  PutEnv(job.env, json);
  json.Key("tasks");
  json.BeginList();
  for (const TaskSpec& task : job.tasks) PutTask(job, task, plain, json);
  json.EndList();
  json.EndObject();
  return std::move(json).Take();
}

ParsedJob JobSpecFromJson(std::string_view json) {
  DocParse document = ParseJsonTree(json);
  if (!document.error) {
    return ReadJobSpec(document.tree.root(), SpecSource::kApi, {.default_name = "job"});
  }
  ParsedJob job;
  job.problems.push_back(*document.error);
  return job;
}

}  // namespace muster
