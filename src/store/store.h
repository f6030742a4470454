// The store: what a controller remembers, in one folder. Facts go into the journal; the state comes
// back from the newest snapshot and the facts behind it.
//
//     ASSIGN_OR_RETURN(auto opened, Store::Open({SystemDisk(), loop, syncing, writing, random},
//     folder)); Controller controller(loop, *opened.store, ..., std::move(opened.state), ...);
//     ...
//     ASSIGN_OR_RETURN(Position position, store.Append(facts));   // written: survives this process
//     store.OnDurable([](Position durable) { ... });              // on the disk: survives a power
//     cut
//     ...
//     store.Finish(state, [](Status) { loop.Stop(); });           // last act of a clean stop
//
// One process owns a store (flock). Loop's thread only. At the end destroy the two Backgrounds
// before the store, so that nothing they still do outlives the lock. Ended jobs lie beside it
// (store/archive.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/state.h"
#include "store/journal.h"

namespace muster::store {

// What replay found.
struct ReplayReport {
  Position snapshot = 0;  // 0: none
  Position last = 0;
  uint64_t records = 0;
  uint64_t facts = 0;  // snapshot and records
  std::string torn;    // words for the log, "" if the journal ends cleanly
};

class Store {
 public:
  struct Opened {
    std::unique_ptr<Store> store;
    core::State state;
    ReplayReport replay;
  };
  // Opens the store in `folder` as its owner, creates it if there is none, and replays it.
  // Blocking. Errors say in one line what to do: kAborted another process owns it (named),
  // kUnimplemented a newer format, kPermissionDenied a read-only folder, kResourceExhausted a full
  // disk, kDataLoss damage (file and byte).
  static Result<Opened> Open(JournalTools tools, const std::string& folder,
                             JournalOptions options = {});
  ~Store();

  // A UUID, made with the store.
  const std::string& store_id() const { return store_id_; }
  const std::string& folder() const { return folder_; }
  // Higher than at every earlier Open of this store, also after a power cut: for ControllerStarted.
  uint64_t epoch() const { return journal_->epoch(); }

  // One record, written when it returns. On kResourceExhausted (the disk and the reserve are full)
  // nothing has changed: call again with the same facts later. Other errors are for good (OnFatal).
  Result<Position> Append(const core::Facts& facts);
  Position written() const { return journal_->written(); }
  Position durable() const { return journal_->durable(); }
  // Called with each new durable position; null: nobody.
  void OnDurable(std::function<void(Position)> call) { journal_->OnDurable(std::move(call)); }
  // Called once when the journal cannot go on (a failed fdatasync or write): promise nothing more,
  // stop.
  void OnFatal(std::function<void(const Error&)> call) { journal_->OnFailure(std::move(call)); }
  // Somebody waits for written() to be durable: sync as soon as the disk is free, not within 5 ms.
  void Hurry() { journal_->Hurry(); }

  // Room for a submit of about so many bytes; holds until the next Append, at most a second. If
  // not, the error says "the disk is full" and what to do, and running work goes on in reserved
  // space.
  Status HasRoomForSubmit(uint64_t bytes) {
    return journal_->ReserveForSubmit(bytes + kSubmitExtra);
  }
  Room room() const { return journal_->room(); }

  // So much was written since the last snapshot that it is time for one.
  bool WantsSnapshot() const { return journal_->SnapshotDue(); }
  // `state` has all appended facts and no others. Packs it at once and writes it in the background;
  // older files go when it is durable. kAborted while another one is being taken. What fails later
  // is logged and harms nothing.
  Status TakeSnapshot(const core::State& state);
  // The last act: a snapshot, then journal and reserved space are removed. Append fails from now
  // on. `done` when it is durable, or with the error, which harms nothing.
  void Finish(const core::State& state, std::function<void(Status)> done);

 private:
  Store(std::string folder, std::string store_id, std::unique_ptr<DiskLock> lock,
        std::unique_ptr<Journal> journal);

  // Facts and framing around the bytes of a submit.
  static constexpr uint64_t kSubmitExtra = 4096;

  const std::string folder_;
  const std::string store_id_;
  std::unique_ptr<DiskLock> lock_;
  std::unique_ptr<Journal> journal_;
  std::string buffer_;
  bool snapshot_running_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// A store that is only looked at: works while another process writes it and on a read-only file
// system.
struct StoreContents {
  std::string store_id;
  core::State state;
  ReplayReport replay;
};
// kNotFound if there is no store in `folder`.
Result<StoreContents> ReadStore(Disk& disk, const std::string& folder);

// Where the archive of the store in `folder` lies.
std::string ArchivePath(const std::string& folder);

// The state as blocks of facts, each of bounded size: what a snapshot holds.
std::vector<std::string> PackState(const core::State& state);

}  // namespace muster::store
