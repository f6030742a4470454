#include "net/web_socket_frames.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

using Messages = std::vector<std::pair<FrameKind, std::string>>;

Result<Messages> ReadInSteps(FrameReader& reader, std::string text, size_t step) {
  Messages messages;
  for (size_t at = 0; at < text.size(); at += step) {
    reader.Feed(std::span<char>(text).subspan(at, std::min(step, text.size() - at)));
    while (true) {
      auto frame = reader.Next();
      if (!frame.ok()) return std::move(frame).error();
      if (!*frame) break;
      messages.emplace_back((*frame)->kind, std::string((*frame)->payload));
    }
    reader.Keep();
  }
  return messages;
}

std::string Bytes16(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text.push_back(static_cast<char>(value));
  return text;
}

TEST(WebSocketFrames, AreTheBytesOfTheStandard) {
  // RFC 6455 section 5.7, with the opcode of binary instead of text.
  std::string out;
  AppendFrame(out, FrameKind::kBinary, "Hello", std::nullopt);
  EXPECT_EQ(out, Bytes16({0x82, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f}));
  out.clear();
  uint32_t mask = 0;
  std::memcpy(&mask, "\x37\xfa\x21\x3d", 4);
  AppendFrame(out, FrameKind::kBinary, "Hello", mask);
  EXPECT_EQ(out, Bytes16({0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}));
  EXPECT_EQ(AcceptKeyFor("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFrames, EncodesBase64) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foobar"), "Zm9vYmFy");
}

TEST(WebSocketFrames, ComeBackWholeHoweverTheBytesCome) {
  Messages sent;
  std::string text;
  for (size_t size : {0, 1, 7, 125, 126, 127, 1000, 70000}) {
    std::string payload(size, '\0');
    for (size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 31);
    AppendFrame(text, FrameKind::kBinary, payload, 0x12345678u + static_cast<uint32_t>(size));
    sent.emplace_back(FrameKind::kBinary, payload);
  }
  AppendFrame(text, FrameKind::kPing, "are you there", 99);
  sent.emplace_back(FrameKind::kPing, "are you there");
  for (size_t step : {1, 2, 3, 13, 500, 4096, 1000000}) {
    FrameReader reader(FrameReader::Expect::kMasked, MiB(1));
    auto messages = ReadInSteps(reader, text, step);
    ASSERT_TRUE(messages.ok());
    EXPECT_TRUE(*messages == sent) << step;
  }
}

TEST(WebSocketFrames, PutsFragmentsTogetherAroundAPing) {
  std::string text =
      Bytes16({0x02, 0x01, 'a', 0x89, 0x00, 0x00, 0x01, 'b', 0x80, 0x01, 'c', 0x82, 0x01, 'd'});
  FrameReader reader(FrameReader::Expect::kUnmasked, MiB(1));
  auto messages = ReadInSteps(reader, text, 1);
  ASSERT_TRUE(messages.ok());
  EXPECT_EQ(
      *messages,
      (Messages{{FrameKind::kPing, ""}, {FrameKind::kBinary, "abc"}, {FrameKind::kBinary, "d"}}));
}

TEST(WebSocketFrames, RefusesWhatTheStandardForbids) {
  const std::vector<std::string> bad{
      Bytes16({0xc2, 0x00}),                          // extension bit
      Bytes16({0x83, 0x00}),                          // unknown kind
      Bytes16({0x81, 0x00}),                          // text
      Bytes16({0x80, 0x00}),                          // continues nothing
      Bytes16({0x09, 0x00}),                          // fragment of a ping
      Bytes16({0x89, 0x7e}),                          // long ping
      Bytes16({0x82, 0x80}),                          // masked by a server
      Bytes16({0x02, 0x00, 0x82}) + Bytes16({0x00}),  // message inside a message
  };
  for (const std::string& text : bad) {
    FrameReader reader(FrameReader::Expect::kUnmasked, MiB(1));
    auto messages = ReadInSteps(reader, text, 1);
    ASSERT_FALSE(messages.ok());
    EXPECT_EQ(messages.error().code, ErrorCode::kInvalidArgument);
  }
  FrameReader server(FrameReader::Expect::kMasked, MiB(1));
  EXPECT_FALSE(ReadInSteps(server, Bytes16({0x82, 0x00}), 2).ok());
}

TEST(WebSocketFrames, RefusesTooLongMessagesBeforeTheyCome) {
  FrameReader reader(FrameReader::Expect::kUnmasked, KiB(1));
  std::string huge = Bytes16({0x82, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  EXPECT_EQ(ReadInSteps(reader, huge, 10).error().code, ErrorCode::kResourceExhausted);
  FrameReader parts(FrameReader::Expect::kUnmasked, Bytes{3});
  EXPECT_EQ(
      ReadInSteps(parts, Bytes16({0x02, 0x02, 'a', 'b', 0x80, 0x02, 'c', 'd'}), 8).error().code,
      ErrorCode::kResourceExhausted);
}

TEST(WebSocketFrames, CarriesTheReasonOfAClose) {
  CloseReason reason = ParseClose(RenderClose(1000, "done"));
  EXPECT_EQ(reason.code, 1000);
  EXPECT_EQ(reason.text, "done");
  EXPECT_EQ(ParseClose("").code, 1005);
  std::string euros;
  for (int i = 0; i < 100; ++i) euros += "\u20ac";
  EXPECT_EQ(RenderClose(1000, euros).size() % 3, 2u);
  EXPECT_LE(RenderClose(1000, euros).size(), 125u);
}

}  // namespace
}  // namespace muster
