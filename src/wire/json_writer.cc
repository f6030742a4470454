#include "wire/json_writer.h"

#include "wire/base64.h"
#include "wire/doc_tree.h"

namespace muster {

void JsonWriter::Quoted(std::string_view text) {
  out_ += '"';
  size_t plain = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) continue;
    out_.append(text.substr(plain, i - plain));
    plain = i + 1;
    switch (byte) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\r':
        out_ += "\\r";
        break;
      default:
        out_ += fmt::format("\\u{:04x}", byte);
    }
  }
  out_.append(text.substr(plain));
  out_ += '"';
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  Quoted(key);
  out_ += ':';
  separate_ = false;
}

void JsonWriter::Text(std::string_view text) {
  if (!IsUtf8(text)) {
    BeginObject();
    Key("base64");
    Text(ToBase64(text));
    EndObject();
    return;
  }
  Separate();
  Quoted(text);
  separate_ = true;
}

}  // namespace muster
