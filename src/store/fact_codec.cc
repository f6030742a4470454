#include "store/fact_codec.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "store/fact_fields.h"
#include "store/record.h"
#include "wire/spec_codec.h"

namespace muster::store {
namespace {

template <typename T>
inline constexpr uint64_t kLastValue = 0;
template <>
inline constexpr auto kLastValue<EndKind> = static_cast<uint64_t>(EndKind::kUnknown);
template <>
inline constexpr auto kLastValue<RetryClass> = static_cast<uint64_t>(RetryClass::kImage);
template <>
inline constexpr auto kLastValue<ExitFacts::How> = static_cast<uint64_t>(ExitFacts::How::kLost);
template <>
inline constexpr auto kLastValue<StopCause> = static_cast<uint64_t>(StopCause::kDraining);
template <>
inline constexpr auto kLastValue<LaunchState> = static_cast<uint64_t>(LaunchState::kEnded);

constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}
// Differences wrap around, so that every pair of times has one.
constexpr int64_t Difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
constexpr int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <typename T>
concept Number = requires(const T& id) { id.number; };
template <typename T>
concept Quantity = std::is_same_v<T, Bytes> || std::is_same_v<T, MilliCpu>;

// -- encoding

class FieldWriter {
 public:
  FieldWriter(std::string& out, int64_t& last_time) : out_(out), last_time_(last_time) {}
  ~FieldWriter() { Flush(); }

  void Varint(uint64_t value) {
    if (buffer_.size() - used_ < 10) Flush();
    while (value >= 0x80) {
      buffer_[used_++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer_[used_++] = static_cast<char>(value);
  }

  template <typename T>
  void operator()(uint32_t number, const T& field) {
    if constexpr (std::is_same_v<T, WallTime>) {
      if (field.us == 0) return;
      Varint(number);
      Varint(ZigZag(Difference(field.us, last_time_)));
      last_time_ = field.us;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (field.empty()) return;
      Varint(number);
      Text(field);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const JobSpec>>) {
      Varint(number);
      Text(EncodeJobSpec(*field));
    } else if constexpr (requires { field.begin(); }) {
      if (field.empty()) return;
      Varint(number);
      Varint(field.size());
      for (const auto& [name, value] : field) {
        Text(name);
        if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
          Varint(value);
        } else {
          Text(value);
        }
      }
    } else {
      uint64_t bits = Bits(field);
      if (bits == 0) return;
      Varint(number);
      Varint(bits);
    }
  }

 private:
  template <typename T>
  static uint64_t Bits(const T& field) {
    if constexpr (Number<T>) {
      return field.number;
    } else if constexpr (Quantity<T>) {
      return field.value;
    } else if constexpr (std::is_same_v<T, Duration>) {
      return ZigZag(field.count());
    } else if constexpr (std::is_signed_v<T>) {
      return ZigZag(field);
    } else {
      return static_cast<uint64_t>(field);
    }
  }
  void Text(std::string_view text) {
    Varint(text.size());
    Flush();
    out_.append(text);
  }
  void Flush() {
    out_.append(buffer_.data(), used_);
    used_ = 0;
  }

  std::string& out_;
  int64_t& last_time_;
  std::array<char, 128> buffer_;
  size_t used_ = 0;
};

// -- decoding

enum class Fault : uint8_t { kNone, kNotFacts, kNewer, kBadSpec };

class FieldReader {
 public:
  explicit FieldReader(std::string_view block)
      : at_(block.data()), begin_(block.data()), end_(block.data() + block.size()) {}

  bool AtEnd() const { return at_ == end_; }
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  Fault fault() const { return fault_; }
  const std::string& words() const { return words_; }
  void Fail(Fault fault, std::string words) {
    if (fault_ != Fault::kNone) return;
    fault_ = fault;
    words_ = std::move(words);
    next_ = 0;
  }

  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      auto byte = static_cast<unsigned char>(*at_++);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte >= 0x80) continue;
      if (shift == 63 && byte > 1) break;
      return value;
    }
    Fail(Fault::kNotFacts, "a number is cut off");
    return 0;
  }

  void BeginFields() { next_ = Varint(); }
  // All fields must have been known.
  void EndFields(uint32_t kind) {
    if (fault_ == Fault::kNone && next_ != 0) {
      Fail(Fault::kNewer, fmt::format("field {} of fact kind {}", next_, kind));
    }
  }

  template <typename T>
  void operator()(uint32_t number, T& field) {
    if (next_ != number) {
      field = T{};
      return;
    }
    Read(field);
    if (fault_ == Fault::kNone) next_ = Varint();
  }

 private:
  template <typename T>
  void Read(T& field) {
    if constexpr (std::is_same_v<T, WallTime>) {
      last_time_ = field.us = Sum(last_time_, UnZigZag(Varint()));
    } else if constexpr (std::is_same_v<T, std::string>) {
      field = Text();
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const JobSpec>>) {
      Result<JobSpec> spec = DecodeJobSpec(Text());
      if (!spec.ok()) return Fail(Fault::kBadSpec, spec.error().message);
      field = std::make_shared<const JobSpec>(*std::move(spec));
    } else if constexpr (requires { field.begin(); }) {
      ReadPairs(field);
    } else {
      ReadBits(field);
    }
  }

  template <typename T>
  void ReadPairs(T& pairs) {
    uint64_t count = Varint();
    // Each takes at least two bytes.
    if (count > static_cast<uint64_t>(end_ - at_) / 2) {
      return Fail(Fault::kNotFacts, "a list is cut off");
    }
    pairs.clear();
    pairs.reserve(count);
    for (uint64_t i = 0; i < count && fault_ == Fault::kNone; ++i) {
      auto& [name, value] = pairs.emplace_back();
      name = Text();
      if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
        value = Varint();
      } else {
        value = Text();
      }
    }
  }

  template <typename T>
  void ReadBits(T& field) {
    uint64_t bits = Varint();
    if constexpr (Number<T>) {
      Narrow(bits, field.number);
    } else if constexpr (Quantity<T>) {
      field.value = bits;
    } else if constexpr (std::is_same_v<T, Duration>) {
      field = Duration{UnZigZag(bits)};
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(kLastValue<T> != 0);
      if (bits > kLastValue<T>)
        return Fail(Fault::kNewer, fmt::format("value {} of a field", bits));
      field = static_cast<T>(bits);
    } else {
      Narrow(bits, field);
    }
  }

  template <typename T>
  void Narrow(uint64_t bits, T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      if (bits > 1) return Fail(Fault::kNotFacts, "a number is out of range");
      field = bits != 0;
    } else if constexpr (std::is_signed_v<T>) {
      int64_t value = UnZigZag(bits);
      if (!std::in_range<T>(value)) return Fail(Fault::kNotFacts, "a number is out of range");
      field = static_cast<T>(value);
    } else {
      if (!std::in_range<T>(bits)) return Fail(Fault::kNotFacts, "a number is out of range");
      field = static_cast<T>(bits);
    }
  }

  std::string_view Text() {
    uint64_t size = Varint();
    if (size > static_cast<uint64_t>(end_ - at_)) {
      Fail(Fault::kNotFacts, "a text is cut off");
      return "";
    }
    std::string_view text(at_, size);
    at_ += size;
    return text;
  }

  const char* at_;
  const char* const begin_;
  const char* const end_;
  uint64_t next_ = 0;  // number of the field that comes next, 0 behind the last
  int64_t last_time_ = 0;
  Fault fault_ = Fault::kNone;
  std::string words_;
};

using DecodeKind = core::Fact (*)(FieldReader&);

template <size_t index>
core::Fact DecodeOne(FieldReader& reader) {
  using Kind = std::variant_alternative_t<index, core::Fact>;
  core::Fact fact(std::in_place_index<index>);
  auto& body = *std::get_if<index>(&fact);
  reader.BeginFields();
  VisitFields(body, reader);
  reader.EndFields(kFactKind<Kind>);
  if constexpr (std::is_same_v<Kind, core::JobAccepted>) {
    if (body.spec == nullptr) reader.Fail(Fault::kNotFacts, "a job without its spec");
  }
  return fact;
}

template <size_t... indexes>
constexpr std::array<DecodeKind, kLastFactKind + 1> MakeDecoders(std::index_sequence<indexes...>) {
  std::array<DecodeKind, kLastFactKind + 1> decoders{};
  ((decoders[kFactKind<std::variant_alternative_t<indexes, core::Fact>>] = DecodeOne<indexes>),
   ...);
  return decoders;
}
constexpr auto kDecoders =
    MakeDecoders(std::make_index_sequence<std::variant_size_v<core::Fact>>());

Error Explain(const FieldReader& reader, size_t offset) {
  switch (reader.fault()) {
    case Fault::kNewer:
      return OperatorError(
          ErrorCode::kUnimplemented,
          fmt::format("fact at byte {}: this muster (format version {}) does not know "
                      "{}: a newer one wrote it, use that",
                      offset, kFormatVersion, reader.words()));
    case Fault::kBadSpec:
      return OperatorError(ErrorCode::kDataLoss,
                           fmt::format("fact at byte {}: its job: {}", offset, reader.words()));
    default:
      return OperatorError(ErrorCode::kDataLoss,
                           fmt::format("fact at byte {}: {}", offset, reader.words()));
  }
}

}  // namespace

void FactEncoder::Add(const core::Fact& fact) {
  std::visit(
      [this](const auto& body) {
        constexpr uint32_t kKind = kFactKind<std::remove_cvref_t<decltype(body)>>;
        static_assert(kKind != 0, "give the new fact a kind in store/fact_fields.h");
        FieldWriter writer(out_, last_time_);
        writer.Varint(kKind);
        VisitFields(body, writer);
        writer.Varint(0);
      },
      fact);
}

Status DecodeFacts(std::string_view block, const std::function<Status(core::Fact&&)>& visit) {
  FieldReader reader(block);
  while (!reader.AtEnd()) {
    size_t offset = reader.offset();
    uint64_t kind = reader.Varint();
    if (reader.fault() == Fault::kNone && kind == 0) {
      reader.Fail(Fault::kNotFacts, "there is none");
    } else if (reader.fault() == Fault::kNone && kind > kLastFactKind) {
      reader.Fail(Fault::kNewer, fmt::format("fact kind {}", kind));
    }
    if (reader.fault() != Fault::kNone) return Explain(reader, offset);
    core::Fact fact = kDecoders[kind](reader);
    if (reader.fault() != Fault::kNone) return Explain(reader, offset);
    RETURN_IF_ERROR(visit(std::move(fact)));
  }
  return Status::Ok();
}

}  // namespace muster::store
