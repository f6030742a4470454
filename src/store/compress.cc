#include "store/compress.h"

#include <fmt/format.h>
#include <zstd.h>

#include "base/check.h"

namespace muster::store {
namespace {

constexpr int kLevel = 1;

}  // namespace

std::string Compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  CHECK(!ZSTD_isError(size));
  out.resize(size);
  return out;
}

Result<std::string> Decompress(std::string_view compressed, Bytes limit) {
  unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > limit.value) {
    return OperatorError(ErrorCode::kDataLoss, "the compressed bytes are damaged");
  }
  std::string out(size, '\0');
  size_t got = ZSTD_decompress(out.data(), out.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(got) || got != size) {
    return OperatorError(ErrorCode::kDataLoss, "the compressed bytes are damaged");
  }
  return out;
}

}  // namespace muster::store
