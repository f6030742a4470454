// The journal against a disk that loses, tears and refuses, and a process and a machine that end at
// any change. One seed, one run; the invariants are those of store/journal.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/log.h"
#include "store/journal.h"
#include "store/simulated_disk.h"
#include "store/testing/step_loop.h"

namespace muster::store {
namespace {

constexpr char kFolder[] = "/state";
constexpr char kStoreId[] = "01234567-89ab-4cde-8f01-23456789abcd";

struct Tally {
  uint64_t power_cuts = 0, process_ends = 0, mid_change = 0, io_errors = 0, full_appends = 0;
  uint64_t torn = 0, snapshots = 0, appended = 0, finishes = 0, durable_claims = 0, rotations = 0;
  uint64_t lost_unsynced = 0, refused_submits = 0, oversize = 0;
};

// A history of appended payloads, and what each life of the process may count on.
class JournalSimulation {
 public:
  JournalSimulation(uint64_t seed, Tally& tally)
      : seed_(seed), random_(seed), disk_(random_), tally_(tally) {
    options_.segment_size = Bytes{512 + random_.Below(4096)};
    options_.snapshot_after = Bytes{1024 + random_.Below(16384)};
  }

  void Run() {
    uint64_t lives = 2 + random_.Below(5);
    for (uint64_t life = 0; life < lives && !::testing::Test::HasFailure(); ++life) {
      Live();
      Die();
    }
    if (::testing::Test::HasFailure()) return;
    disk_.SetCapacity(GiB(1));
    disk_.ClearFaults();
    Start();
    EXPECT_NE(journal_, nullptr) << "seed " << seed_;
    journal_.reset();
  }

 private:
  // The payload at `position` says so, and is unlike any other.
  std::string MakePayload(Position position) {
    uint64_t size =
        random_.Percent(5) ? random_.Below(3 * options_.segment_size.value) : random_.Below(200);
    if (size > options_.segment_size.value) ++tally_.oversize;
    std::string payload = fmt::format("{}/{}/", position, ++serial_);
    while (payload.size() < size) payload += static_cast<char>(random_.Next());
    return payload;
  }

  // The snapshot of everything up to `position`: its payloads, each with its length.
  std::vector<std::string> MakeChunks(Position position) const {
    std::vector<std::string> chunks(1);
    for (Position p = 1; p <= position; ++p) {
      chunks.back() += fmt::format("{} ", history_[p - 1].size()) + history_[p - 1];
      if (chunks.back().size() > 3000) chunks.emplace_back();
    }
    return chunks;
  }

  static void ParseChunk(std::string_view chunk, std::vector<std::string>& into) {
    while (!chunk.empty()) {
      size_t space = chunk.find(' ');
      uint64_t size = std::stoull(std::string(chunk.substr(0, space)));
      into.emplace_back(chunk.substr(space + 1, size));
      chunk.remove_prefix(space + 1 + size);
    }
  }

  // Opens the store as a new process would and compares what it finds. journal_ stays null when the
  // process ended on the way or there was no room.
  void Start() {
    std::vector<std::string> found;
    JournalVisitor visitor{[&](std::string_view chunk) -> Status {
                             ParseChunk(chunk, found);
                             return Status::Ok();
                           },
                           [&](const Record& record) -> Status {
                             EXPECT_EQ(record.position, found.size() + 1) << "seed " << seed_;
                             found.emplace_back(record.payload);
                             return Status::Ok();
                           }};
    auto recovered = RecoverJournal(disk_, kFolder, kStoreId, visitor);
    ASSERT_TRUE(recovered.ok()) << "seed " << seed_ << ": " << recovered.error();
    if (!recovered->torn.empty()) ++tally_.torn;
    ASSERT_EQ(recovered->last, found.size()) << "seed " << seed_;
    ASSERT_GE(recovered->last, promised_) << "seed " << seed_ << ": lost what was promised";
    ASSERT_LE(recovered->last, history_.size() + maybe_.size()) << "seed " << seed_;
    for (size_t i = 0; i < found.size() && i < history_.size(); ++i) {
      ASSERT_EQ(found[i], history_[i]) << "seed " << seed_ << " position " << i + 1;
    }
    if (found.size() > history_.size()) {
      // A write that was answered with an error, or with nothing, may be there.
      ASSERT_EQ(found.size(), history_.size() + 1) << "seed " << seed_;
      ASSERT_NE(std::find(maybe_.begin(), maybe_.end(), found.back()), maybe_.end())
          << "seed " << seed_;
    }
    tally_.lost_unsynced += history_.size() - std::min(history_.size(), found.size());
    history_ = found;
    maybe_.clear();
    promised_ = history_.size();  // what a start has seen a process end cannot take away

    syncing_ = std::make_unique<LoopBackground>(loop_, random_, Duration{3000});
    writing_ = std::make_unique<LoopBackground>(loop_, random_, Duration{20000});
    JournalTools tools{disk_, loop_, *syncing_, *writing_, random_};
    auto opened = Journal::Open(tools, kFolder, kStoreId, options_, *recovered);
    if (!opened.ok()) {
      ErrorCode code = opened.error().code;
      ASSERT_TRUE(disk_.crashed() || code == ErrorCode::kResourceExhausted ||
                  code == ErrorCode::kDataLoss)
          << "seed " << seed_ << ": " << opened.error();
      return;
    }
    journal_ = *std::move(opened);
    ASSERT_GT(journal_->epoch(), epoch_) << "seed " << seed_;
    epoch_ = journal_->epoch();
    promised_durable_ = history_.size();
    journal_->OnDurable([this](Position position) {
      ++tally_.durable_claims;
      ASSERT_FALSE(failed_) << "seed " << seed_ << ": durable after a failed sync";
      ASSERT_LE(position, history_.size()) << "seed " << seed_;
      ASSERT_GE(position, promised_durable_) << "seed " << seed_;
      promised_durable_ = position;
    });
    journal_->OnFailure([this](const Error&) { failed_ = true; });
  }

  void Live() {
    failed_ = false;
    if (random_.Percent(80)) disk_.CrashAfter(1 + random_.Below(random_.Percent(50) ? 12 : 200));
    if (random_.Percent(25)) disk_.SetCapacity(Bytes{disk_.used().value + random_.Below(30000)});
    Start();
    if (journal_ == nullptr) return;
    uint64_t steps = random_.Below(300);
    for (uint64_t i = 0; i < steps && !disk_.crashed() && !failed_; ++i) {
      Act();
      if (::testing::Test::HasFailure()) return;
    }
    if (disk_.crashed()) ++tally_.mid_change;
  }

  void Act() {
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return DoAppend();
      case 4:
      case 5:
      case 6:
        loop_.Step();
        return;
      case 7:
        loop_.RunFor(Duration{static_cast<int64_t>(random_.Below(30000))});
        return;
      case 8:
        journal_->Hurry();
        return;
      case 9:
        if (journal_->SnapshotDue() || random_.Percent(5)) DoSnapshot();
        return;
      case 10:
        return DoSubmit();
      default:
        return DoFault();
    }
  }

  void DoFault() {
    if (random_.Percent(3)) {
      disk_.FailNextSync();
      ++tally_.io_errors;
    } else if (random_.Percent(2)) {
      disk_.FailNextWrite();
      ++tally_.io_errors;
    } else if (random_.Percent(10)) {
      disk_.SetCapacity(Bytes{disk_.used().value + random_.Below(20000)});
    } else if (random_.Percent(20)) {
      disk_.SetCapacity(GiB(1));  // somebody made room
    }
  }

  void DoAppend() {
    std::string payload = MakePayload(history_.size() + 1);
    auto position = journal_->Append(payload);
    if (position.ok() && !disk_.crashed()) {
      ASSERT_EQ(*position, history_.size() + 1) << "seed " << seed_;
      history_.push_back(payload);
      ++tally_.appended;
    } else {
      ASSERT_TRUE(disk_.crashed() || failed_ || finished_ ||
                  position.error().code == ErrorCode::kResourceExhausted)
          << "seed " << seed_ << ": " << position.error();
      if (!disk_.crashed() && !failed_) ++tally_.full_appends;
      maybe_.push_back(payload);
    }
  }

  // What was reserved for submits is there, however full the disk gets meanwhile; they go into one
  // record.
  void DoSubmit() {
    std::string payload;
    for (uint64_t submits = 1 + random_.Below(3); submits > 0; --submits) {
      std::string one = MakePayload(history_.size() + 1);
      if (!journal_->ReserveForSubmit(one.size()).ok()) {
        ++tally_.refused_submits;
        break;
      }
      payload += one;
    }
    if (payload.empty()) return;
    Bytes before{GiB(1)};
    disk_.SetCapacity(disk_.used());
    auto position = journal_->Append(payload);
    disk_.SetCapacity(before);
    if (disk_.crashed() || failed_ || finished_) return maybe_.push_back(payload);
    ASSERT_TRUE(position.ok()) << "seed " << seed_ << ": " << position.error();
    history_.push_back(payload);
    ++tally_.appended;
  }

  void DoSnapshot() {
    bool finish = random_.Percent(10);
    auto chunks = MakeChunks(history_.size());
    auto done = [this](const Status& status) {
      if (status.ok()) ++tally_.snapshots;
    };
    if (!finish) return journal_->TakeSnapshot(std::move(chunks), done);
    finished_ = true;
    ++tally_.finishes;
    journal_->Finish(std::move(chunks), done);
  }

  void Die() {
    bool power = random_.Percent(50);
    journal_.reset();
    syncing_.reset();
    writing_.reset();
    loop_.Clear();
    if (power) {
      ++tally_.power_cuts;
      disk_.CutPower();
      promised_ = promised_durable_;
    } else {
      ++tally_.process_ends;
      disk_.EndProcess();
      promised_ = std::max<Position>(promised_, history_.size());
    }
    finished_ = false;
  }

  const uint64_t seed_;
  Random random_;
  SimulatedDisk disk_;
  Tally& tally_;
  StepLoop loop_;
  JournalOptions options_;
  std::unique_ptr<LoopBackground> syncing_;
  std::unique_ptr<LoopBackground> writing_;
  std::unique_ptr<Journal> journal_;

  std::vector<std::string> history_;  // appended, by position
  std::vector<std::string> maybe_;    // answered with an error
  Position promised_ = 0;             // at least this must be found
  Position promised_durable_ = 0;     // ... after a power cut
  uint64_t epoch_ = 0;
  uint64_t serial_ = 0;
  bool failed_ = false;
  bool finished_ = false;
};

void Simulate(uint64_t first_seed, uint64_t count, Tally& tally) {
  for (uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    JournalSimulation(seed, tally).Run();
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "first failing seed " << seed;
      return;
    }
  }
}

TEST(JournalSimulation, KeepsItsPromisesThroughCrashesPowerCutsAndFullDisks) {
  Tally tally;
  SetLogLevel(LogLevel::kOff);
  Simulate(1, 2000, tally);
  SetLogLevel(LogLevel::kWarning);
  fmt::print(
      "appended {} durable {} power cuts {} process ends {} in the middle of a change {} io errors "
      "{}\n"
      "torn {} lost unsynced {} snapshots {} finishes {} oversize {} full appends {} refused "
      "submits {}\n",
      tally.appended, tally.durable_claims, tally.power_cuts, tally.process_ends, tally.mid_change,
      tally.io_errors, tally.torn, tally.lost_unsynced, tally.snapshots, tally.finishes,
      tally.oversize, tally.full_appends, tally.refused_submits);
  for (uint64_t count :
       {tally.appended, tally.durable_claims, tally.power_cuts, tally.process_ends,
        tally.mid_change, tally.io_errors, tally.torn, tally.lost_unsynced, tally.snapshots,
        tally.finishes, tally.oversize, tally.full_appends, tally.refused_submits}) {
    EXPECT_GE(count, 100U);
  }
}

}  // namespace
}  // namespace muster::store
