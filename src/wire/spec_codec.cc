#include "wire/spec_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "wire/spec.pb.h"

namespace muster {
namespace {

constexpr std::string_view kMagic = "MJ";
constexpr uint8_t kFormat = 1;
constexpr size_t kHeadBegin = 7;
constexpr int64_t kMostIndex = INT64_MAX / 4;

Error Bad(std::string_view what) {
  return UserError(ErrorCode::kInvalidArgument, fmt::format("decode a job: {}", what));
}

void PutVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < 5; ++i) {
    auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void PutItems(const ItemList& items, std::string& out) {
  for (size_t i = 0; i < items.size(); ++i) PutVarint(items[i].size(), out);
  for (size_t i = 0; i < items.size(); ++i) out.append(items[i]);
}

uint64_t BytesOf(const ItemList& items) {
  uint64_t sum = 0;
  for (size_t i = 0; i < items.size(); ++i) sum += items[i].size();
  return sum;
}

// Items of one task that follow all tasks.
struct AnnouncedItems {
  uint64_t task;
  uint64_t count;
  uint64_t bytes;
};

Status TakeItems(const AnnouncedItems& ahead, std::string_view& rest, ItemList& items) {
  if (ahead.count > rest.size()) return Bad("items are missing");
  std::string_view lengths = rest;
  uint64_t total = 0;
  for (uint64_t i = 0; i < ahead.count; ++i) {
    uint64_t length = 0;
    if (!TakeVarint(rest, length)) return Bad("the length of an item is damaged");
    total += length;
  }
  if (total != ahead.bytes || total > rest.size()) return Bad("items are missing");
  for (uint64_t i = 0; i < ahead.count; ++i) {
    uint64_t length = 0;
    if (!TakeVarint(lengths, length) || !items.Add(rest.substr(0, length))) {
      return Bad("the items are more than 4 GiB");
    }
    rest.remove_prefix(length);
  }
  items.ShrinkToFit();
  return Status::Ok();
}

template <typename Repeated>
void EncodeEnv(const std::vector<std::pair<std::string, std::string>>& env, Repeated* out) {
  for (const auto& [name, value] : env) {
    auto* variable = out->Add();
    variable->set_name(name);
    variable->set_value(value);
  }
}

template <typename Repeated>
std::vector<std::pair<std::string, std::string>> DecodeEnv(Repeated& env) {
  std::vector<std::pair<std::string, std::string>> decoded;
  decoded.reserve(static_cast<size_t>(env.size()));
  for (auto& variable : env) {
    decoded.emplace_back(std::move(*variable.mutable_name()), std::move(*variable.mutable_value()));
  }
  return decoded;
}

void EncodeEach(const TaskSpec& task, spec::v1::TaskSpec* out) {
  if (const auto* range = std::get_if<IndexRange>(&task.each)) {
    out->mutable_range()->set_first(range->first);
    out->mutable_range()->set_last(range->last);
    out->mutable_range()->set_step(range->step);
  } else if (const auto* items = std::get_if<ItemList>(&task.each)) {
    out->mutable_items()->set_count(items->size());
    out->mutable_items()->set_bytes(BytesOf(*items));
  }
}

void EncodeTask(const TaskSpec& task, spec::v1::TaskSpec* out) {
  out->set_name(task.name);
  if (const auto* shell = std::get_if<ShellCommand>(&task.command)) {
    out->set_shell(shell->text);
  } else {
    auto* argv = out->mutable_exec();
    for (const std::string& arg : std::get<ExecCommand>(task.command).argv) argv->add_arg(arg);
  }
  EncodeEnv(task.env, out->mutable_env());
  out->set_cwd(task.cwd);
  EncodeEach(task, out);
  out->set_array_cap(task.array_cap);
  out->set_milli_cpus(task.request.cpus.value);
  out->set_memory(task.request.memory.value);
  out->set_gpus(task.request.gpus);
  for (const auto& [name, amount] : task.request.named) {
    auto* named = out->add_named();
    named->set_name(name);
    named->set_amount(amount);
  }
  if (task.memory_limit) out->set_memory_limit(task.memory_limit->value);
  if (task.time_limit) out->set_time_limit_us(task.time_limit->count());
  if (task.needs_time) out->set_needs_time_us(task.needs_time->count());
  out->set_grace_us(task.grace.count());
  out->set_retries_user(task.retries.user);
  out->set_retries_oom(task.retries.oom);
  out->set_retries_infrastructure(task.retries.infrastructure);
  out->set_lane(static_cast<uint32_t>(task.lane));
  out->set_once(task.once);
  out->set_category(task.category);
  out->set_priority(task.priority);
  out->mutable_needs()->Add(task.needs.begin(), task.needs.end());
  for (const std::string& input : task.inputs) out->add_inputs(input);
}

Status DecodeRange(const spec::v1::IndexRange& in, TaskSpec& task) {
  IndexRange range{in.first(), in.last(), in.step()};
  for (int64_t index : {range.first, range.last, range.step}) {
    if (index > kMostIndex || index < -kMostIndex) return Bad("an index is too large");
  }
  if (range.step < 1) return Bad("the step of an array is below 1");
  task.each = range;
  return Status::Ok();
}

// All but the items.
Status DecodeTask(spec::v1::TaskSpec& in, TaskSpec& task) {
  task.name = std::move(*in.mutable_name());
  if (in.has_exec()) {
    ExecCommand exec;
    for (auto& arg : *in.mutable_exec()->mutable_arg()) exec.argv.push_back(std::move(arg));
    task.command = std::move(exec);
  } else {
    task.command = ShellCommand{in.has_shell() ? std::move(*in.mutable_shell()) : ""};
  }
  task.env = DecodeEnv(*in.mutable_env());
  task.cwd = std::move(*in.mutable_cwd());
  if (in.has_range()) RETURN_IF_ERROR(DecodeRange(in.range(), task));
  task.array_cap = in.array_cap();
  task.request.cpus = MilliCpu{in.milli_cpus()};
  task.request.memory = Bytes{in.memory()};
  task.request.gpus = in.gpus();
  for (auto& named : *in.mutable_named()) {
    task.request.named.emplace_back(std::move(*named.mutable_name()), named.amount());
  }
  if (in.has_memory_limit()) task.memory_limit = Bytes{in.memory_limit()};
  if (in.has_time_limit_us()) task.time_limit = Duration(in.time_limit_us());
  if (in.has_needs_time_us()) task.needs_time = Duration(in.needs_time_us());
  task.grace = Duration(in.grace_us());
  task.retries = {in.retries_user(), in.retries_oom(), in.retries_infrastructure()};
  if (in.lane() > static_cast<uint32_t>(Lane::kOwn)) return Bad("the lane is unknown");
  task.lane = static_cast<Lane>(in.lane());
  task.once = in.once();
  task.category = std::move(*in.mutable_category());
  task.priority = in.priority();
  task.needs.assign(in.needs().begin(), in.needs().end());
  for (auto& input : *in.mutable_inputs()) task.inputs.push_back(std::move(input));
  return Status::Ok();
}

}  // namespace

std::string EncodeJobSpec(const JobSpec& job) {
  spec::v1::JobSpec head;
  head.set_name(job.name);
  head.set_cwd(job.cwd);
  head.set_cluster(job.cluster);
  head.set_priority(job.priority);
  head.set_task_count(job.tasks.size());
  EncodeEnv(job.env, head.mutable_env());
  size_t head_size = head.ByteSizeLong();
  CHECK(head_size <= INT32_MAX);
  std::string out;
  out.append(kMagic);
  out += static_cast<char>(kFormat);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(head_size >> shift);
  head.AppendToString(&out);
  // One message for all tasks: cleared, it keeps its memory.
  spec::v1::TaskSpec encoded;
  size_t item_bytes = 0;
  for (const TaskSpec& task : job.tasks) {
    encoded.Clear();
    EncodeTask(task, &encoded);
    PutVarint(encoded.ByteSizeLong(), out);
    encoded.AppendToString(&out);
    if (encoded.has_items()) item_bytes += encoded.items().bytes() + encoded.items().count() * 2;
  }
  out.reserve(out.size() + item_bytes);
  for (const TaskSpec& task : job.tasks) {
    if (const auto* list = std::get_if<ItemList>(&task.each)) PutItems(*list, out);
  }
  return out;
}

namespace {

// The head; `rest` is then what follows it.
Status TakeHead(std::string_view& rest, spec::v1::JobSpec& head) {
  if (rest.size() < kHeadBegin || !rest.starts_with(kMagic)) return Bad("this is not a job");
  if (static_cast<uint8_t>(rest[2]) != kFormat) {
    return Bad(fmt::format("format {} is not known, this version reads {}",
                           static_cast<uint8_t>(rest[2]), kFormat));
  }
  uint32_t head_size = 0;
  for (size_t i = 0; i < 4; ++i) {
    head_size |= static_cast<uint32_t>(static_cast<unsigned char>(rest[3 + i])) << (8 * i);
  }
  rest.remove_prefix(kHeadBegin);
  if (head_size > rest.size() || head_size > INT32_MAX) return Bad("the head is cut off");
  if (!head.ParseFromArray(rest.data(), static_cast<int>(head_size)))
    return Bad("the head is damaged");
  rest.remove_prefix(head_size);
  if (head.must_understand() != 0) {
    return Bad("it was written by a newer version and uses what this one cannot do");
  }
  return Status::Ok();
}

// The messages of the tasks one after the other; an item list is only announced in its task.
Status TakeTasks(uint64_t count, std::string_view& rest, std::vector<TaskSpec>& tasks,
                 std::vector<AnnouncedItems>& announced) {
  // No task is shorter; a number that is made up must not reserve memory.
  constexpr uint64_t kLeastTaskBytes = 4;
  if (count > rest.size() / kLeastTaskBytes) return Bad("tasks are missing");
  tasks.reserve(std::min<uint64_t>(count, 1 << 20));
  spec::v1::TaskSpec encoded;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    if (!TakeVarint(rest, size) || size > rest.size() || size > INT32_MAX) {
      return Bad("a task is cut off");
    }
    if (!encoded.ParseFromArray(rest.data(), static_cast<int>(size)))
      return Bad("a task is damaged");
    rest.remove_prefix(size);
    RETURN_IF_ERROR(DecodeTask(encoded, tasks.emplace_back()));
    if (encoded.has_items()) {
      announced.push_back({i, encoded.items().count(), encoded.items().bytes()});
    }
  }
  return Status::Ok();
}

}  // namespace

Result<JobSpec> DecodeJobSpec(std::string_view bytes) {
  std::string_view rest = bytes;
  spec::v1::JobSpec head;
  RETURN_IF_ERROR(TakeHead(rest, head));
  JobSpec job;
  job.name = std::move(*head.mutable_name());
  job.cwd = std::move(*head.mutable_cwd());
  job.cluster = std::move(*head.mutable_cluster());
  job.priority = head.priority();
  job.env = DecodeEnv(*head.mutable_env());
  std::vector<AnnouncedItems> announced;
  RETURN_IF_ERROR(TakeTasks(head.task_count(), rest, job.tasks, announced));
  for (const AnnouncedItems& ahead : announced) {
    ItemList items;
    RETURN_IF_ERROR(TakeItems(ahead, rest, items));
    job.tasks[ahead.task].each = std::move(items);
  }
  if (!rest.empty()) return Bad("bytes follow its end");
  return job;
}

}  // namespace muster
