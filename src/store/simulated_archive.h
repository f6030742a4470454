// An archive in memory for the simulation: what was stored lies on a shelf that outlives the
// process, what was only asked to be stored when it ended may or may not be there. Loop's thread
// only.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "base/random.h"
#include "store/archive.h"

namespace muster::store {

struct ArchiveShelf {
  std::map<uint64_t, std::pair<ArchivedJob, std::string>> jobs;  // by id; packed facts
};

class SimulatedArchive final : public Archive {
 public:
  // Everything takes up to `longest_wait`, and as long again until it is answered.
  SimulatedArchive(Loop& loop, Random& random, ArchiveShelf& shelf, Duration longest_wait)
      : loop_(loop), random_(random), shelf_(shelf), longest_wait_(longest_wait) {}
  ~SimulatedArchive() override { *alive_ = false; }

  void Put(const JobView& job, core::Facts facts, std::function<void(Status)> done) override {
    ArchivedJob row = MakeArchivedJob(job, facts);
    Later([this, row = std::move(row), packed = PackFacts(facts), done = std::move(done)] {
      shelf_.jobs[row.id.number] = {row, packed};
      Later([done] { done(Status::Ok()); });
    });
  }
  Result<std::optional<core::Facts>> Get(JobId job) override {
    auto found = shelf_.jobs.find(job.number);
    if (found == shelf_.jobs.end()) return std::optional<core::Facts>();
    ASSIGN_OR_RETURN(core::Facts facts, UnpackFacts(found->second.second));
    return std::optional<core::Facts>(std::move(facts));
  }
  Result<std::optional<JobId>> FindRequest(const std::string& request_id) override {
    for (const auto& [id, job] : shelf_.jobs) {
      if (!request_id.empty() && job.first.request_id == request_id)
        return std::optional(JobId{id});
    }
    return std::optional<JobId>();
  }
  Result<Page<ArchivedJob>> List(const ArchiveQuery& query) override {
    Page<ArchivedJob> page;
    for (auto job = shelf_.jobs.rbegin(); job != shelf_.jobs.rend(); ++job) {
      const ArchivedJob& row = job->second.first;
      bool matches = (!query.owner || row.owner == *query.owner) &&
                     (!query.ended_since || row.ended >= *query.ended_since) &&
                     (!query.failed_only || row.counts.failed() > 0);
      if (!matches) continue;
      ++page.total;
      if (query.below && row.id >= *query.below) continue;
      if (page.items.size() < query.limit) {
        page.items.push_back(row);
      } else if (!page.items.empty()) {
        page.next = Render(page.items.back().id);
      }
    }
    return page;
  }
  void Prune(WallTime ended_before, std::function<void(Result<uint64_t>)> done) override {
    Later([this, ended_before, done = std::move(done)] {
      uint64_t removed = std::erase_if(
          shelf_.jobs, [&](const auto& job) { return job.second.first.ended < ended_before; });
      Later([done, removed] { done(removed); });
    });
  }

 private:
  void Later(std::function<void()> work) {
    auto most = static_cast<uint64_t>(longest_wait_.count()) + 1;
    Duration wait{static_cast<int64_t>(random_.Below(most))};
    loop_.RunAfter(wait, [alive = alive_, work = std::move(work)] {
      if (*alive) work();
    });
  }

  Loop& loop_;
  Random& random_;
  ArchiveShelf& shelf_;
  const Duration longest_wait_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::store
