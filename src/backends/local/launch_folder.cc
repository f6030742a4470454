#include "backends/local/launch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "backends/local/launch_lock.h"
#include "backends/local/record_file.h"
#include "base/unique_fd.h"

namespace muster::local {
namespace {

constexpr size_t kOutcomeRoom = 1024;
constexpr std::string_view kResource = "resource.";
constexpr std::string_view kLabel = "label.";

std::optional<uint64_t> ParseNumber(std::string_view digits) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

Result<LaunchIdentity> ParseIdentity(std::string_view text) {
  ASSIGN_OR_RETURN(Record record, ParseRecord(text));
  LaunchIdentity identity;
  ASSIGN_OR_RETURN(identity.keeper, ParseProcessIdentity(record.Find("keeper").value_or("")));
  ASSIGN_OR_RETURN(identity.executor, ParseProcessIdentity(record.Find("executor").value_or("")));
  ASSIGN_OR_RETURN(uint64_t started, record.GetNumber("started_us"));
  identity.started = {static_cast<int64_t>(started)};
  identity.host = record.Find("host").value_or("");
  return identity;
}

// Nothing as long as only the room is there.
std::optional<LaunchOutcome> ParseOutcome(std::string_view text) {
  auto record = ParseRecord(text);
  if (!record.ok() || !record->Find("complete")) return std::nullopt;
  LaunchOutcome outcome;
  if (auto code = record->GetNumber("exit_code"); code.ok()) {
    outcome.exit_code = static_cast<int32_t>(*code);
  }
  if (auto signal = record->GetNumber("exit_signal"); signal.ok()) {
    outcome.exit_signal = static_cast<int32_t>(*signal);
  }
  outcome.left_behind = record->GetNumber("left_behind").value_or(0);
  outcome.reason = record->Find("reason").value_or("");
  outcome.ended = {static_cast<int64_t>(record->GetNumber("ended_us").value_or(0))};
  return outcome;
}

std::string RenderOutcome(const LaunchOutcome& outcome) {
  Record record;
  if (outcome.exit_code) record.AddNumber("exit_code", static_cast<uint64_t>(*outcome.exit_code));
  if (outcome.exit_signal) {
    record.AddNumber("exit_signal", static_cast<uint64_t>(*outcome.exit_signal));
  }
  record.AddNumber("left_behind", outcome.left_behind);
  record.Add("reason", std::string_view(outcome.reason).substr(0, kOutcomeRoom / 4));
  record.AddNumber("ended_us", static_cast<uint64_t>(outcome.ended.us));
  record.AddNumber("complete", 1);
  return RenderRecord(record);
}

}  // namespace

std::string RenderLaunchOrder(const LaunchOrder& order) {
  const LaunchSpec& spec = order.spec;
  Record record;
  record.AddNumber("launch", spec.id.number);
  record.AddNumber("executor", spec.executor.number);
  record.Add("store", spec.owner.store_id);
  record.AddNumber("epoch", spec.owner.epoch);
  record.Add("controller", order.controller);
  record.Add("state_folder", order.state_folder);
  record.AddNumber("milli_cpus", spec.size.cpus.value);
  record.AddNumber("memory", spec.size.memory.value);
  record.AddNumber("gpus", spec.size.gpus);
  for (const auto& [name, amount] : spec.size.named) {
    record.AddNumber(std::string(kResource) + name, amount);
  }
  record.AddNumber("max_attempts", spec.max_attempts);
  for (const auto& [key, value] : spec.labels) record.Add(std::string(kLabel) + key, value);
  return RenderRecord(record);
}

Result<LaunchOrder> ParseLaunchOrder(std::string_view text) {
  ASSIGN_OR_RETURN(Record record, ParseRecord(text));
  LaunchOrder order;
  LaunchSpec& spec = order.spec;
  ASSIGN_OR_RETURN(spec.id.number, record.GetNumber("launch"));
  ASSIGN_OR_RETURN(spec.executor.number, record.GetNumber("executor"));
  ASSIGN_OR_RETURN(spec.owner.epoch, record.GetNumber("epoch"));
  ASSIGN_OR_RETURN(spec.size.cpus.value, record.GetNumber("milli_cpus"));
  ASSIGN_OR_RETURN(spec.size.memory.value, record.GetNumber("memory"));
  ASSIGN_OR_RETURN(uint64_t gpus, record.GetNumber("gpus"));
  ASSIGN_OR_RETURN(uint64_t max_attempts, record.GetNumber("max_attempts"));
  spec.size.gpus = static_cast<uint32_t>(gpus);
  spec.max_attempts = static_cast<uint32_t>(max_attempts);
  spec.owner.store_id = record.Find("store").value_or("");
  order.controller = record.Find("controller").value_or("");
  order.state_folder = record.Find("state_folder").value_or("");
  for (const auto& [key, value] : record.lines()) {
    if (key.starts_with(kResource)) {
      spec.size.named.emplace_back(key.substr(kResource.size()), ParseNumber(value).value_or(0));
    } else if (key.starts_with(kLabel)) {
      spec.labels.emplace_back(key.substr(kLabel.size()), value);
    }
  }
  return order;
}

LaunchStage DecideStage(const LaunchEvidence& evidence) {
  if (!evidence.folder) return LaunchStage::kNoFolder;
  if (evidence.outcome) return LaunchStage::kEnded;
  if (evidence.identity && evidence.identity->keeper.boot_id != evidence.boot_id) {
    return LaunchStage::kMachineRestarted;
  }
  if (evidence.lock_held) {
    return evidence.identity ? LaunchStage::kRunning : LaunchStage::kStarting;
  }
  return evidence.identity_written ? LaunchStage::kKeeperLost : LaunchStage::kNeverStarted;
}

std::string FolderName(std::string_view store_id, LaunchId launch) {
  return fmt::format("{}-{}", store_id.substr(0, 8), Render(launch));
}

std::optional<ParsedFolderName> ParseFolderName(std::string_view name) {
  size_t dash = name.rfind("-l");
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  auto number = ParseNumber(name.substr(dash + 2));
  if (!number) return std::nullopt;
  ParsedFolderName parsed{std::string(name.substr(0, dash)), {*number}};
  // "l07" is none of ours.
  if (fmt::format("{}-l{}", parsed.store_start, *number) != name) return std::nullopt;
  return parsed;
}

std::string LaunchCookie(std::string_view store_id, LaunchId launch) {
  return fmt::format("{}-{}", store_id, Render(launch));
}

Result<LaunchEvidence> LaunchFolder::Look() const {
  LaunchEvidence evidence;
  struct stat folder{};
  if (::stat(path_.c_str(), &folder) != 0) {
    if (errno == ENOENT) return evidence;
    return ErrnoError("look for " + path_, errno);
  }
  evidence.folder = true;
  evidence.boot_id = ReadBootId();
  ASSIGN_OR_RETURN(LockState lock, ReadLockState(lock_path()));
  evidence.lock_held = lock == LockState::kHeld;
  auto identity = ReadWholeFile(path_ + "/identity");
  if (identity.ok()) {
    evidence.identity_written = true;
    if (auto parsed = ParseIdentity(*identity); parsed.ok()) evidence.identity = *parsed;
  } else if (identity.error().code != ErrorCode::kNotFound) {
    return std::move(identity).error();
  }
  auto outcome = ReadWholeFile(path_ + "/outcome");
  if (outcome.ok()) {
    evidence.outcome = ParseOutcome(*outcome);
  } else if (outcome.error().code != ErrorCode::kNotFound) {
    return std::move(outcome).error();
  }
  return evidence;
}

Result<LaunchOrder> LaunchFolder::ReadOrder() const {
  ASSIGN_OR_RETURN(std::string text, ReadWholeFile(path_ + "/order"));
  return ParseLaunchOrder(text).WithContext(path_ + "/order");
}

Status LaunchFolder::WriteOrder(const LaunchOrder& order) const {
  return WriteWholeFile(path_ + "/order", RenderLaunchOrder(order));
}

Status LaunchFolder::WriteToken(std::string_view token) const {
  return WriteWholeFile(path_ + "/token", token);
}

Result<std::string> LaunchFolder::TakeToken() const {
  const std::string path = path_ + "/token";
  ASSIGN_OR_RETURN(std::string token, ReadWholeFile(path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoError("remove " + path, errno);
  return token;
}

Status LaunchFolder::WriteIdentity(const LaunchIdentity& identity) const {
  Record record;
  record.Add("keeper", Render(identity.keeper));
  record.Add("executor", Render(identity.executor));
  record.Add("host", identity.host);
  record.AddNumber("started_us", static_cast<uint64_t>(identity.started.us));
  return WriteWholeFile(path_ + "/identity", RenderRecord(record));
}

Status LaunchFolder::ReserveOutcome() const {
  return WriteWholeFile(path_ + "/outcome", std::string(kOutcomeRoom, '\n'));
}

Status LaunchFolder::WriteOutcome(const LaunchOutcome& outcome) const {
  const std::string path = path_ + "/outcome";
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError("open " + path, errno);
  std::string text = RenderOutcome(outcome);
  if (::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return ErrnoError("write " + path, errno);
  }
  return Status::Ok();
}

Status LaunchFolder::Remove() const {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error && error.value() != ENOENT) return ErrnoError("remove " + path_, error.value());
  return Status::Ok();
}

}  // namespace muster::local
