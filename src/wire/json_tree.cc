#include <fmt/format.h>

#include <limits>

#include "wire/doc_builder.h"
#include "wire/json.h"

namespace muster {
namespace {

// nlohmann's interface for events; its parser keeps its own stack and does not recurse.
class Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Events(DocBuilder& builder) : builder_(builder) {}

  bool null() override { return builder_.Null({}); }
  bool boolean(bool value) override { return Plain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return Plain(fmt::format_int(value).c_str());
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Plain(fmt::format_int(value).c_str());
  }
  bool number_float(number_float_t, const string_t& text) override { return Plain(text); }
  bool string(string_t& value) override {
    return builder_.Scalar({}, value, DocBuilder::Style::kQuoted);
  }
  bool binary(binary_t&) override { return builder_.Fail({}, "binary values are not JSON"); }
  bool start_object(std::size_t) override { return builder_.Begin(DocKind::kMap, {}); }
  bool key(string_t& value) override {
    return builder_.Scalar({}, value, DocBuilder::Style::kQuoted);
  }
  bool end_object() override { return builder_.End(); }
  bool start_array(std::size_t) override { return builder_.Begin(DocKind::kList, {}); }
  bool end_array() override { return builder_.End(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    std::string_view words = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    if (size_t end = words.find("] "); end != std::string_view::npos) words.remove_prefix(end + 2);
    return builder_.Fail(
        {}, fmt::format("this is not JSON at byte {}: {}", position, words.substr(0, 300)));
  }

 private:
  bool Plain(std::string_view text) { return builder_.Scalar({}, text, DocBuilder::Style::kPlain); }

  DocBuilder& builder_;
};

}  // namespace

DocParse ParseJsonTree(std::string_view text) {
  DocParse result;
  DocBuilder builder;
  Events events(builder);
  bool whole = false;
  try {
    whole = nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  } catch (const std::exception& error) {
    builder.Fail({}, fmt::format("this is not JSON: {}", error.what()));
  }
  if (!whole && !builder.problem()) builder.Fail({}, "this is not JSON");
  result.error = builder.problem();
  if (result.error && !IsUtf8(result.error->message)) {
    result.error->message = "this is not JSON: a byte that is not UTF-8";
  }
  result.tree = std::move(builder).Finish();
  return result;
}

}  // namespace muster
