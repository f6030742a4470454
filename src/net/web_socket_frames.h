// Frames of RFC 6455 section 5, as bytes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace muster {

enum class FrameKind : uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// Appends one whole frame. What clients send is masked, what servers send is not.
void AppendFrame(std::string& out, FrameKind kind, std::string_view payload,
                 std::optional<uint32_t> mask);

// Payload of a Close frame, and back.
std::string RenderClose(uint16_t code, std::string_view reason);
struct CloseReason {
  uint16_t code = 1005;
  std::string text;
};
CloseReason ParseClose(std::string_view payload);

// Cuts a stream into messages:
//     reader.Feed(bytes);
//     while (...) { ASSIGN_OR_RETURN(auto frame, reader.Next()); if (!frame) break; ... }
//     reader.Keep();
class FrameReader {
 public:
  enum class Expect { kMasked, kUnmasked };
  // A control frame, or a message put together from its fragments (kBinary).
  struct Frame {
    FrameKind kind = FrameKind::kBinary;
    // Valid until the next call of Next, Feed or Keep.
    std::string_view payload;
  };

  FrameReader(Expect expect, Bytes max_message) : expect_(expect), max_message_(max_message) {}

  // Gives bytes, which are changed in place and must stay until Keep. Keep precedes the next Feed.
  void Feed(std::span<char> bytes);
  // Nothing: more bytes are needed. Errors: kInvalidArgument, kResourceExhausted (too long).
  Result<std::optional<Frame>> Next();
  // Copies what Next has not used.
  void Keep();

 private:
  struct Head {
    FrameKind kind = FrameKind::kBinary;
    bool final = false;
    uint32_t mask = 0;
    uint64_t length = 0;
    size_t size = 0;  // of the head itself
  };
  Result<std::optional<Head>> ReadHead() const;
  Status CheckHead(const Head& head) const;

  const Expect expect_;
  const Bytes max_message_;
  std::string kept_;
  std::span<char> rest_;
  // The fragments so far of a message that has not ended.
  std::string message_;
  bool in_message_ = false;
  bool message_given_ = false;
};

// The Sec-WebSocket-Accept that answers a Sec-WebSocket-Key (section 4.2.2).
std::string AcceptKeyFor(std::string_view key);
std::string EncodeBase64(std::string_view bytes);

}  // namespace muster
