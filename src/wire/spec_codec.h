// JobSpec as bytes: for the journal, and for submit bodies of our own client. Lossless, compact
// (items cost their bytes and about one more each), 10^6 items in some tens of milliseconds, 10^6 tasks in
// some hundreds.
//
// Layout: "MJ", format version (1 byte), length of the head (4 bytes, little-endian), head (a JobSpec
// message of spec.proto), then for each task the length of its TaskSpec message as a varint and the
// message, then the items of all lists: lengths as varints, then bytes.
// Readers skip fields that they do not know. A number that says the writer was newer in
// a way that matters is refused. Any bytes at all give a JobSpec or an error, never a crash. What
// is decoded may still be nonsense: CheckJobSpec (model/job_check.h) judges it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/job_spec.h"

namespace muster {

inline constexpr std::string_view kJobSpecContentType = "application/vnd.muster.job+protobuf";

std::string EncodeJobSpec(const JobSpec& job);
Result<JobSpec> DecodeJobSpec(std::string_view bytes);

}  // namespace muster
