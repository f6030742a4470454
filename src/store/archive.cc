#include "store/archive.h"

#include <utility>

#include "store/compress.h"
#include "store/fact_codec.h"

namespace muster::store {
namespace {

constexpr Bytes kLargestJob = GiB(4);

}  // namespace

ArchivedJob MakeArchivedJob(const JobView& job, const core::Facts& facts) {
  ArchivedJob row{job.id,    job.name,      job.owner,
                  "",        job.submitted, job.ended.value_or(job.submitted),
                  job.counts};
  for (const core::Fact& fact : facts) {
    if (const auto* accepted = std::get_if<core::JobAccepted>(&fact)) {
      row.request_id = accepted->request_id;
      break;
    }
  }
  return row;
}

std::string PackFacts(const core::Facts& facts) {
  std::string block;
  FactEncoder encoder(block);
  for (const core::Fact& fact : facts) encoder.Add(fact);
  return Compress(block);
}

Result<core::Facts> UnpackFacts(std::string_view packed) {
  ASSIGN_OR_RETURN(std::string block, Decompress(packed, kLargestJob));
  core::Facts facts;
  RETURN_IF_ERROR(DecodeFacts(block, [&facts](core::Fact&& fact) {
    facts.push_back(std::move(fact));
    return Status::Ok();
  }));
  return facts;
}

}  // namespace muster::store
