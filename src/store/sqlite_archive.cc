#include <fmt/format.h>

#include <future>
#include <utility>

#include "base/log.h"
#include "base/worker_pool.h"
#include "store/archive.h"
#include "store/archive_table.h"

namespace muster::store {
namespace {

// Jobs that can wait to be stored.
constexpr size_t kMostWaiting = 4096;

class SqliteArchive final : public Archive {
 public:
  SqliteArchive(Loop& loop, std::string path, ArchiveMode mode)
      : loop_(loop), path_(std::move(path)), mode_(mode), pool_("archive", 1, kMostWaiting) {}
  // What was put is stored; its answers are dropped.
  ~SqliteArchive() override {
    *alive_ = false;
    pool_.Drain();
  }

  void Put(const JobView& job, core::Facts facts, std::function<void(Status)> done) override {
    ArchivedJob row = MakeArchivedJob(job, facts);
    auto work = [this, row = std::move(row), facts = std::move(facts)]() -> Result<bool> {
      std::string packed = PackFacts(facts);
      return With<bool>([&](ArchiveTable& table) -> Result<bool> {
        RETURN_IF_ERROR(table.Put(row, packed));
        return true;
      });
    };
    InBackground<bool>(std::move(work), [done = std::move(done)](Result<bool> stored) {
      done(stored.ok() ? Status::Ok() : Status(std::move(stored).error()));
    });
  }

  Result<std::optional<core::Facts>> Get(JobId job) override {
    auto packed =
        Blocking<std::optional<std::string>>([job](auto& table) { return table.Get(job); });
    if (!packed.ok()) return Missing<std::optional<core::Facts>>(std::move(packed).error());
    if (!*packed) return std::optional<core::Facts>();
    auto facts = UnpackFacts(**packed);
    if (!facts.ok())
      return std::move(facts).error().WithContext(fmt::format("{} in {}", Render(job), path_));
    return std::optional<core::Facts>(*std::move(facts));
  }

  Result<std::optional<JobId>> FindRequest(const std::string& request_id) override {
    auto found = Blocking<std::optional<JobId>>(
        [&request_id](auto& table) { return table.FindRequest(request_id); });
    return found.ok() ? found : Missing<std::optional<JobId>>(std::move(found).error());
  }

  Result<Page<ArchivedJob>> List(const ArchiveQuery& query) override {
    auto page = Blocking<Page<ArchivedJob>>([&query](auto& table) { return table.List(query); });
    return page.ok() ? page : Missing<Page<ArchivedJob>>(std::move(page).error());
  }

  void Prune(WallTime ended_before, std::function<void(Result<uint64_t>)> done) override {
    InBackground<uint64_t>(
        [this, ended_before] {
          return With<uint64_t>([&](ArchiveTable& table) { return table.Prune(ended_before); });
        },
        std::move(done));
  }

 private:
  // Opened only to be read and not there: nothing has been archived.
  template <typename T>
  Result<T> Missing(Error error) const {
    if (mode_ == ArchiveMode::kReadOnly && error.code == ErrorCode::kNotFound) return T{};
    return error;
  }

  // On the archive's thread: `use` on the open table. A damaged database is moved aside and `use`
  // tried once more on a new one.
  template <typename T>
  Result<T> With(const std::function<Result<T>(ArchiveTable&)>& use) {
    for (int tries = 1;; ++tries) {
      Result<T> result = [&]() -> Result<T> {
        if (table_ == nullptr) {
          ASSIGN_OR_RETURN(table_, ArchiveTable::Open(path_, mode_));
        }
        return use(*table_);
      }();
      bool damaged = !result.ok() && result.error().code == ErrorCode::kDataLoss;
      if (!damaged || mode_ == ArchiveMode::kReadOnly || tries == 2) {
        return std::move(result).WithContext("archive");
      }
      table_.reset();
      Result<std::string> aside = MoveAside(path_);
      if (!aside.ok()) return std::move(aside).error().WithContext("archive");
      LogError("archive: {}; it now lies in {}, a new one is begun", result.error().ToString(),
               *aside);
    }
  }

  template <typename T>
  Result<T> Blocking(std::function<Result<T>(ArchiveTable&)> use) {
    std::promise<Result<T>> promise;
    auto answer = promise.get_future();
    RETURN_IF_ERROR(pool_.Post([&] { promise.set_value(With<T>(use)); }));
    return answer.get();
  }

  template <typename T>
  void InBackground(std::function<Result<T>()> work, std::function<void(Result<T>)> done) {
    auto answer = [&loop = loop_, alive = alive_, done = std::move(done)](Result<T> result) {
      loop.Post([alive, done, result = std::move(result)] {
        if (*alive) done(result);
      });
    };
    Status posted = pool_.Post([work = std::move(work), answer] { answer(work()); });
    if (!posted.ok()) answer(std::move(posted).error());
  }

  Loop& loop_;
  const std::string path_;
  const ArchiveMode mode_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // loop's thread
  std::unique_ptr<ArchiveTable> table_;                         // archive's thread
  WorkerPool pool_;
};

}  // namespace

std::unique_ptr<Archive> OpenArchive(Loop& loop, std::string path, ArchiveMode mode) {
  return std::make_unique<SqliteArchive>(loop, std::move(path), mode);
}

}  // namespace muster::store
