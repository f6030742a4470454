#include "net/web_socket_frames.h"

#include <array>
#include <boost/uuid/detail/sha1.hpp>
#include <cstring>

namespace muster {
namespace {

constexpr size_t kLongestControl = 125;

// XORs with the four mask bytes, which are in memory order in `mask`.
void ApplyMask(char* bytes, size_t size, uint32_t mask) {
  uint64_t wide = (uint64_t{mask} << 32) | mask;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    word ^= wide;
    std::memcpy(bytes + i, &word, 8);
  }
  std::array<char, 4> small{};
  std::memcpy(small.data(), &mask, 4);
  for (; i < size; ++i) bytes[i] = static_cast<char>(bytes[i] ^ small[i % 4]);
}

uint64_t ReadBigEndian(const char* bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void AppendBigEndian(std::string& out, uint64_t value, size_t size) {
  for (size_t i = size; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
}

bool IsControl(FrameKind kind) { return static_cast<uint8_t>(kind) >= 8; }

Error Malformed(std::string_view what) {
  return ClusterError(ErrorCode::kInvalidArgument, fmt::format("WebSocket frame {}", what));
}

}  // namespace

void AppendFrame(std::string& out, FrameKind kind, std::string_view payload,
                 std::optional<uint32_t> mask) {
  out.push_back(static_cast<char>(0x80 | static_cast<uint8_t>(kind)));
  uint8_t masked = mask ? 0x80 : 0;
  if (payload.size() < 126) {
    out.push_back(static_cast<char>(masked | payload.size()));
  } else if (payload.size() <= 0xffff) {
    out.push_back(static_cast<char>(masked | 126));
    AppendBigEndian(out, payload.size(), 2);
  } else {
    out.push_back(static_cast<char>(masked | 127));
    AppendBigEndian(out, payload.size(), 8);
  }
  if (!mask) {
    out.append(payload);
    return;
  }
  std::array<char, 4> key{};
  std::memcpy(key.data(), &*mask, 4);
  out.append(key.data(), 4);
  size_t start = out.size();
  out.append(payload);
  ApplyMask(out.data() + start, payload.size(), *mask);
}

std::string RenderClose(uint16_t code, std::string_view reason) {
  std::string payload;
  AppendBigEndian(payload, code, 2);
  size_t size = std::min(reason.size(), kLongestControl - 2);
  // Not in the middle of a UTF-8 sequence.
  while (size > 0 && size < reason.size() &&
         (static_cast<unsigned char>(reason[size]) & 0xc0) == 0x80) {
    --size;
  }
  return payload.append(reason.substr(0, size));
}

CloseReason ParseClose(std::string_view payload) {
  CloseReason reason;
  if (payload.size() < 2) return reason;
  reason.code = static_cast<uint16_t>(ReadBigEndian(payload.data(), 2));
  reason.text = payload.substr(2);
  return reason;
}

void FrameReader::Feed(std::span<char> bytes) {
  if (kept_.empty()) {
    rest_ = bytes;
  } else {
    kept_.append(bytes.data(), bytes.size());
    rest_ = kept_;
  }
}

void FrameReader::Keep() {
  if (rest_.empty()) {
    kept_.clear();
    if (kept_.capacity() > (1 << 20)) kept_.shrink_to_fit();
  } else if (!kept_.empty()) {
    kept_.erase(0, kept_.size() - rest_.size());
  } else {
    kept_.assign(rest_.data(), rest_.size());
  }
  rest_ = kept_;
}

Result<std::optional<FrameReader::Head>> FrameReader::ReadHead() const {
  std::optional<Head> none;
  if (rest_.size() < 2) return none;
  auto first = static_cast<uint8_t>(rest_[0]);
  auto second = static_cast<uint8_t>(rest_[1]);
  if ((first & 0x70) != 0) return Malformed("uses an extension that was not agreed");
  Head head;
  head.kind = static_cast<FrameKind>(first & 0x0f);
  head.final = (first & 0x80) != 0;
  bool masked = (second & 0x80) != 0;
  if (masked != (expect_ == Expect::kMasked)) {
    return Malformed(masked ? "of a server is masked" : "of a client is not masked");
  }
  size_t extra = (second & 0x7f) == 126 ? 2 : (second & 0x7f) == 127 ? 8 : 0;
  head.size = 2 + extra + (masked ? 4 : 0);
  // What is wrong with the frame is said before the rest of its head has come.
  head.length = extra == 0 ? (second & 0x7f) : 126;
  RETURN_IF_ERROR(CheckHead(head));
  if (rest_.size() < head.size) return none;
  if (extra > 0) head.length = ReadBigEndian(rest_.data() + 2, extra);
  if (head.length > max_message_.value || message_.size() > max_message_.value - head.length) {
    return ClusterError(ErrorCode::kResourceExhausted,
                        fmt::format("WebSocket message of more than {}", Render(max_message_)));
  }
  if (masked) std::memcpy(&head.mask, rest_.data() + 2 + extra, 4);
  return std::optional<Head>(head);
}

Status FrameReader::CheckHead(const Head& head) const {
  switch (head.kind) {
    case FrameKind::kClose:
    case FrameKind::kPing:
    case FrameKind::kPong:
      if (!head.final) return Malformed("for control is a fragment");
      if (head.length > kLongestControl) return Malformed("for control is too long");
      return Status::Ok();
    case FrameKind::kText:
      return Malformed("holds text, binary is expected");
    case FrameKind::kBinary:
      if (in_message_) return Malformed("begins a message inside another");
      return Status::Ok();
    case FrameKind::kContinuation:
      if (!in_message_) return Malformed("continues no message");
      return Status::Ok();
  }
  return Malformed("has an unknown kind");
}

Result<std::optional<FrameReader::Frame>> FrameReader::Next() {
  std::optional<Frame> none;
  if (message_given_) {
    message_ = std::string();
    message_given_ = false;
  }
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Head> head, ReadHead());
    if (!head || rest_.size() - head->size < head->length) return none;
    char* payload = rest_.data() + head->size;
    rest_ = rest_.subspan(head->size + head->length);
    if (head->mask != 0) ApplyMask(payload, head->length, head->mask);
    std::string_view view(payload, head->length);
    if (IsControl(head->kind)) return std::optional<Frame>(Frame{head->kind, view});
    if (head->final && !in_message_) return std::optional<Frame>(Frame{FrameKind::kBinary, view});
    message_.append(view);
    in_message_ = !head->final;
    if (in_message_) continue;
    message_given_ = true;
    return std::optional<Frame>(Frame{FrameKind::kBinary, message_});
  }
}

std::string EncodeBase64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      bool there = i + k <= bytes.size();
      out.push_back(there ? kLetters[three >> (18 - 6 * k) & 63] : '=');
    }
  }
  return out;
}

std::string AcceptKeyFor(std::string_view key) {
  std::string text(key);
  text.append("258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  boost::uuids::detail::sha1 sha1;
  sha1.process_bytes(text.data(), text.size());
  boost::uuids::detail::sha1::digest_type digest{};
  sha1.get_digest(digest);
  std::string bytes;
  for (unsigned int word : digest) AppendBigEndian(bytes, word, 4);
  return EncodeBase64(bytes);
}

}  // namespace muster
