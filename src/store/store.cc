#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "core/apply.h"
#include "store/fact_codec.h"
#include "store/folder.h"
#include "store/journal_recovery.h"

namespace muster::store {
namespace {

// A snapshot is read and written in pieces of about this size.
constexpr size_t kChunkSize = 1 << 20;
// A reader that meets the writer at its files looks again so often.
constexpr int kReadTries = 20;
// What a buffer may keep from the largest batch.
constexpr size_t kKeptBuffer = 1 << 20;

struct Replayed {
  core::State state;
  ReplayReport report;
  RecoveredJournal recovered;
};

Result<Replayed> Replay(Disk& disk, const std::string& folder, const std::string& store_id) {
  Replayed result;
  auto apply = [&result](std::string_view block) {
    return DecodeFacts(block, [&result](core::Fact&& fact) {
      core::Apply(result.state, fact);
      ++result.report.facts;
      return Status::Ok();
    });
  };
  JournalVisitor visitor{apply, [&apply](const Record& record) { return apply(record.payload); }};
  ASSIGN_OR_RETURN(result.recovered, RecoverJournal(disk, folder, store_id, visitor));
  result.report.snapshot = result.recovered.snapshot;
  result.report.last = result.recovered.last;
  result.report.records = result.recovered.records;
  result.report.torn = result.recovered.torn;
  result.recovered.epoch = std::max(result.recovered.epoch, result.state.epoch());
  return result;
}

Result<std::string> MakeStore(JournalTools& tools, const std::string& folder) {
  ASSIGN_OR_RETURN(FolderContent content, ListFolder(tools.disk, folder));
  if (!content.segments.empty() || !content.snapshots.empty()) {
    return OperatorError(
        ErrorCode::kDataLoss,
        fmt::format("{} holds a journal but no FORMAT file: restore the folder from a "
                    "backup or choose another state folder",
                    folder));
  }
  std::string store_id = MakeUuid(tools.random);
  RETURN_IF_ERROR(WriteFormat(tools.disk, folder, store_id));
  std::string parent = std::filesystem::path(folder).parent_path().string();
  // Not ours and perhaps not readable: what can be done is done.
  if (Status synced = tools.disk.SyncFolder(parent); !synced.ok()) {
    LogDebug("store: {}", synced.error().ToString());
  }
  return store_id;
}

}  // namespace

Result<Store::Opened> Store::Open(JournalTools tools, const std::string& folder,
                                  JournalOptions options) {
  auto explain = [&folder](Error error) {
    if (error.code == ErrorCode::kAborted) {
      error.message += ": stop it or choose another state folder";
    }
    return ExplainDiskError(std::move(error), folder).WithContext("open the store in " + folder);
  };
  if (Status made = tools.disk.MakeFolder(folder); !made.ok())
    return explain(std::move(made).error());
  auto lock = tools.disk.Lock(folder + "/lock");
  if (!lock.ok()) return explain(std::move(lock).error());
  ASSIGN_OR_RETURN(std::optional<std::string> found_id, ReadFormat(tools.disk, folder));
  if (!found_id) {
    Result<std::string> made = MakeStore(tools, folder);
    if (!made.ok()) return explain(std::move(made).error());
    found_id = *std::move(made);
  }
  ASSIGN_OR_RETURN(Replayed replayed, Replay(tools.disk, folder, *found_id));
  auto journal = Journal::Open(tools, folder, *found_id, options, replayed.recovered);
  if (!journal.ok()) return explain(std::move(journal).error());
  std::unique_ptr<Store> store(
      new Store(folder, *std::move(found_id), *std::move(lock), *std::move(journal)));
  return Opened{std::move(store), std::move(replayed.state), std::move(replayed.report)};
}

Store::Store(std::string folder, std::string store_id, std::unique_ptr<DiskLock> lock,
             std::unique_ptr<Journal> journal)
    : folder_(std::move(folder)),
      store_id_(std::move(store_id)),
      lock_(std::move(lock)),
      journal_(std::move(journal)) {}

Store::~Store() { *alive_ = false; }

Result<Position> Store::Append(const core::Facts& facts) {
  if (facts.empty()) return written();
  buffer_.clear();
  FactEncoder encoder(buffer_);
  for (const core::Fact& fact : facts) encoder.Add(fact);
  Result<Position> position = journal_->Append(buffer_);
  if (buffer_.capacity() > kKeptBuffer) std::string().swap(buffer_);
  return position;
}

Status Store::TakeSnapshot(const core::State& state) {
  if (snapshot_running_) {
    return Error{ErrorCode::kAborted, ErrorOwner::kUs, "a snapshot is being taken", ""};
  }
  snapshot_running_ = true;
  journal_->TakeSnapshot(PackState(state), [this, alive = alive_](const Status& taken) {
    if (!*alive) return;
    snapshot_running_ = false;
    if (!taken.ok()) LogWarning("journal: {}", taken.error().ToString());
  });
  return Status::Ok();
}

void Store::Finish(const core::State& state, std::function<void(Status)> done) {
  journal_->Finish(PackState(state), std::move(done));
}

Result<StoreContents> ReadStore(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(std::optional<std::string> store_id, ReadFormat(disk, folder));
  if (!store_id) {
    return UserError(ErrorCode::kNotFound, fmt::format("there is no muster store in {}", folder));
  }
  for (int left = kReadTries;; --left) {
    Result<Replayed> replayed = Replay(disk, folder, *store_id);
    if (replayed.ok()) {
      return StoreContents{*std::move(store_id), std::move(replayed->state),
                           std::move(replayed->report)};
    }
    // The writer may have removed a file between list and read, or written between two reads.
    ErrorCode code = replayed.error().code;
    bool moving = code == ErrorCode::kNotFound || code == ErrorCode::kDataLoss;
    if (!moving || left == 1) return std::move(replayed).error();
  }
}

std::string ArchivePath(const std::string& folder) { return folder + "/archive.sqlite"; }

std::vector<std::string> PackState(const core::State& state) {
  std::vector<std::string> chunks;
  core::DumpFacts(state, [&chunks](core::Facts&& facts) {
    auto begin = facts.cbegin();
    while (begin != facts.cend()) {
      std::string& chunk = chunks.emplace_back();
      FactEncoder encoder(chunk);
      for (; begin != facts.cend() && chunk.size() < kChunkSize; ++begin) encoder.Add(*begin);
    }
  });
  return chunks;
}

}  // namespace muster::store
