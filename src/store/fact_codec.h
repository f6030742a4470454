// Facts as bytes: what journal, snapshots and archive hold. Pure.
//
//     std::string bytes;
//     FactEncoder encoder(bytes);
//     for (const core::Fact& fact : facts) encoder.Add(fact);
//     ...
//     RETURN_IF_ERROR(DecodeFacts(bytes, [&](core::Fact&& fact) { ... return Status::Ok(); }));
//
// Layout of each fact: kind, then for each field that is not 0 or empty its number and value, then
// 0. All numbers are varints, signed ones zigzag; times are differences to the time before them in
// the same block. Kinds and field numbers are never used again for something else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/fact.h"

namespace muster::store {

// Appends to `out`, which is one block: it is decoded from its beginning.
class FactEncoder {
 public:
  explicit FactEncoder(std::string& out) : out_(out) {}
  void Add(const core::Fact& fact);

 private:
  std::string& out_;
  int64_t last_time_ = 0;
};

// Hands the facts of one block to `visit` in order and stops at its first error. kUnimplemented for
// a kind or field that only a newer version knows, kDataLoss for bytes that are no facts; any bytes
// at all give facts or an error.
Status DecodeFacts(std::string_view block, const std::function<Status(core::Fact&&)>& visit);

}  // namespace muster::store
