#include "wire/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "wire/base64.h"

namespace muster {
namespace {

std::string_view NameOf(DocKind kind) {
  switch (kind) {
    case DocKind::kNull:
      return "nothing";
    case DocKind::kScalar:
      return "a single value";
    case DocKind::kList:
      return "a list";
    case DocKind::kMap:
      return "a map";
  }
  return "";
}

// {base64: "..."}: bytes that are not UTF-8.
std::optional<DocRef> Base64Of(DocRef value) {
  std::optional<DocRef> found;
  size_t keys = 0;
  value.ForEachEntry([&](DocRef key, DocRef inner) {
    ++keys;
    if (key.text() == "base64" && inner.is_scalar()) found = inner;
  });
  return keys == 1 ? found : std::nullopt;
}

std::string Meant(const std::string& guess) {
  return guess.empty() ? "" : fmt::format("did you mean {}?", guess);
}

// "256 MB" -> {"256", "mb"}.
std::pair<std::string, std::string> SplitUnit(std::string_view text) {
  std::string number;
  std::string unit;
  for (char c : text) {
    if (c == ' ' || c == '_') continue;
    bool digit = (c >= '0' && c <= '9') || c == '.';
    if (digit && unit.empty()) {
      number += c;
    } else {
      unit += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return {number, unit};
}

struct Synonym {
  std::string_view written;
  std::string_view meant;
};
constexpr std::array<Synonym, 22> kSizeWords = {
    {{"b", ""},     {"bytes", ""}, {"kb", "k"},   {"kib", "Ki"}, {"ki", "Ki"}, {"m", "M"},
     {"mb", "M"},   {"mib", "Mi"}, {"mi", "Mi"},  {"meg", "M"},  {"g", "G"},   {"gb", "G"},
     {"gib", "Gi"}, {"gi", "Gi"},  {"gig", "G"},  {"t", "T"},    {"tb", "T"},  {"tib", "Ti"},
     {"ti", "Ti"},  {"pb", "Pi"},  {"pib", "Pi"}, {"p", "Pi"}}};
constexpr std::array<Synonym, 22> kTimeWords = {
    {{"", "s"},        {"s", "s"},      {"sec", "s"}, {"secs", "s"}, {"second", "s"},
     {"seconds", "s"}, {"m", "m"},      {"min", "m"}, {"mins", "m"}, {"minute", "m"},
     {"minutes", "m"}, {"h", "h"},      {"hr", "h"},  {"hrs", "h"},  {"hour", "h"},
     {"hours", "h"},   {"d", "d"},      {"day", "d"}, {"days", "d"}, {"msec", "ms"},
     {"msecs", "ms"},  {"millis", "ms"}}};

template <size_t N>
std::string Translate(std::string_view text, const std::array<Synonym, N>& words) {
  auto [number, unit] = SplitUnit(text);
  if (number.empty()) return "";
  for (const Synonym& word : words) {
    if (unit == word.written) return number.append(word.meant);
  }
  return "";
}

}  // namespace

std::string GuessSize(std::string_view text) {
  std::string guess = Translate(text, kSizeWords);
  return ParseBytes(guess).ok() ? guess : "";
}

std::string GuessTime(std::string_view text) {
  // 01:30:00, as other schedulers write it.
  std::array<int64_t, 3> parts{};
  size_t count = 0;
  std::string_view rest = text;
  while (count < 3) {
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parts[count]);
    if (error != std::errc() || parts[count] < 0 || parts[count] > 100'000) break;
    ++count;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (!rest.starts_with(':')) break;
    rest.remove_prefix(1);
  }
  if (rest.empty() && count == 3) {
    return Render(Duration(std::chrono::seconds(parts[0] * 3600 + parts[1] * 60 + parts[2])));
  }
  std::string guess = Translate(text, kTimeWords);
  return ParseDuration(guess).ok() ? guess : "";
}

std::optional<std::string_view> ValueReader::Scalar(DocRef value, const DocPath& path,
                                                    std::string_view what) {
  if (value.is_scalar()) return value.text();
  if (value.is_null()) {
    problems_.Add(path, value, fmt::format("has no value; expected {}", what));
  } else {
    problems_.Add(path, value, fmt::format("expected {}, not {}", what, NameOf(value.kind())));
  }
  return std::nullopt;
}

std::optional<std::string> ValueReader::Text(DocRef value, const DocPath& path) {
  if (value.is_map()) {
    if (std::optional<DocRef> inner = Base64Of(value)) {
      std::optional<std::string> bytes = FromBase64(inner->text());
      if (!bytes) problems_.Add(path, *inner, "this is not base64");
      return bytes;
    }
  }
  std::optional<std::string_view> text = Scalar(value, path, "a text");
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::optional<std::vector<std::string>> ValueReader::Texts(DocRef value, const DocPath& path) {
  std::vector<std::string> texts;
  bool good = true;
  if (value.is_list()) {
    size_t i = 0;
    value.ForEachItem([&](DocRef item) {
      if (auto text = Text(item, path.Index(i++))) {
        texts.push_back(std::move(*text));
      } else {
        good = false;
      }
    });
  } else if (auto text = Text(value, path)) {
    texts.push_back(std::move(*text));
  } else {
    good = false;
  }
  if (!good) return std::nullopt;
  return texts;
}

std::optional<bool> ValueReader::Truth(DocRef value, const DocPath& path) {
  auto text = Scalar(value, path, "true or false");
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "True" || *text == "TRUE") return true;
  if (*text == "false" || *text == "False" || *text == "FALSE") return false;
  std::string guess;
  if (*text == "yes" || *text == "on" || *text == "1") guess = "true";
  if (*text == "no" || *text == "off" || *text == "0") guess = "false";
  problems_.Add(path, value, fmt::format("'{}' is not true or false", *text), Meant(guess));
  return std::nullopt;
}

std::optional<int64_t> ValueReader::Whole(DocRef value, const DocPath& path, int64_t least,
                                          int64_t most) {
  auto text = Scalar(value, path, "a whole number");
  if (!text) return std::nullopt;
  int64_t number = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  bool whole = end == text->data() + text->size() && !text->empty();
  if (!whole || (error != std::errc() && error != std::errc::result_out_of_range)) {
    problems_.Add(path, value, fmt::format("'{}' is not a whole number", *text));
    return std::nullopt;
  }
  if (error == std::errc::result_out_of_range || number < least || number > most) {
    problems_.Add(path, value, fmt::format("{} is not between {} and {}", *text, least, most));
    return std::nullopt;
  }
  return number;
}

std::optional<Bytes> ValueReader::Size(DocRef value, const DocPath& path) {
  auto text = Scalar(value, path, "a size such as 256Mi");
  if (!text) return std::nullopt;
  Result<Bytes> size = ParseBytes(*text);
  if (size.ok()) return *size;
  problems_.Add(path, value, size.error().message, Meant(GuessSize(*text)));
  return std::nullopt;
}

std::optional<Duration> ValueReader::Time(DocRef value, const DocPath& path) {
  auto text = Scalar(value, path, "a time such as 90s");
  if (!text) return std::nullopt;
  if (*text == "0") return Duration(0);
  Result<Duration> time = ParseDuration(*text);
  if (time.ok()) return *time;
  problems_.Add(path, value, time.error().message, Meant(GuessTime(*text)));
  return std::nullopt;
}

std::optional<MilliCpu> ValueReader::Cpus(DocRef value, const DocPath& path) {
  auto text = Scalar(value, path, "a number of cpus such as 2 or 0.5");
  if (!text) return std::nullopt;
  Result<MilliCpu> cpus = ParseMilliCpu(*text);
  if (cpus.ok()) return *cpus;
  problems_.Add(path, value, cpus.error().message);
  return std::nullopt;
}

std::optional<std::vector<std::pair<std::string, std::string>>> ValueReader::Pairs(
    DocRef value, const DocPath& path) {
  std::vector<std::pair<std::string, std::string>> pairs;
  bool good = true;
  auto add = [&](std::optional<std::string> name, std::optional<std::string> text) {
    if (name && text) {
      pairs.emplace_back(std::move(*name), std::move(*text));
    } else {
      good = false;
    }
  };
  if (value.is_list()) {
    size_t i = 0;
    value.ForEachItem([&](DocRef item) {
      DocPath at = path.Index(i++);
      std::optional<DocRef> name = item.Find("name");
      std::optional<DocRef> text = item.Find("value");
      if (name && text) {
        add(Text(*name, at.Key("name")), Text(*text, at.Key("value")));
      } else {
        good = false;
        problems_.Add(at, item, "expected a name and a value",
                      "write a map: one line 'NAME: value' for each");
      }
    });
  } else if (value.is_map()) {
    good = CheckKeys(value, path);
    value.ForEachEntry([&](DocRef key, DocRef text) {
      // `NAME:` with nothing behind it is an empty value, as in a shell.
      if (text.is_null()) {
        add(std::string(key.text()), "");
      } else {
        add(std::string(key.text()), Text(text, path.Key(key.text())));
      }
    });
  } else {
    Scalar(value, path, "a map");
    if (value.is_scalar()) problems_.Add(path, value, "expected a map", "write NAME: value");
    return std::nullopt;
  }
  if (!good) return std::nullopt;
  return pairs;
}

std::optional<std::vector<std::pair<std::string, uint64_t>>> ValueReader::Amounts(
    DocRef value, const DocPath& path) {
  std::vector<std::pair<std::string, uint64_t>> amounts;
  bool good = true;
  auto add = [&](std::optional<std::string> name, DocRef amount, const DocPath& at) {
    auto number = Whole(amount, at, 0, INT64_MAX);
    if (name && number) {
      amounts.emplace_back(std::move(*name), static_cast<uint64_t>(*number));
    } else {
      good = false;
    }
  };
  if (value.is_map()) {
    good = CheckKeys(value, path);
    value.ForEachEntry([&](DocRef key, DocRef amount) {
      add(std::string(key.text()), amount, path.Key(key.text()));
    });
  } else {
    problems_.Add(path, value, "expected a map of names and whole numbers", "write {licences: 2}");
    return std::nullopt;
  }
  if (!good) return std::nullopt;
  std::sort(amounts.begin(), amounts.end());
  return amounts;
}

bool ValueReader::CheckKeys(DocRef map, const DocPath& path) {
  bool good = true;
  auto report = [&](DocRef key, DocRef first) {
    good = false;
    std::string where = first.line() > 0 ? fmt::format(" (first on line {})", first.line()) : "";
    problems_.Add(path.Key(key.text()), key, fmt::format("the key stands twice{}", where),
                  "keep one of them");
  };
  std::vector<DocRef> few;
  std::unordered_map<std::string_view, DocRef> many;
  map.ForEachEntry([&](DocRef key, DocRef) {
    if (few.size() < 24) {
      auto same = [&](DocRef known) { return known.text() == key.text(); };
      if (auto found = std::find_if(few.begin(), few.end(), same); found != few.end()) {
        report(key, *found);
      } else {
        few.push_back(key);
      }
      return;
    }
    if (many.empty()) {
      for (DocRef known : few) many.emplace(known.text(), known);
    }
    if (auto [found, fresh] = many.emplace(key.text(), key); !fresh) report(key, found->second);
  });
  return good;
}

void ValueReader::UnknownKey(DocRef key, const DocPath& path,
                             const std::vector<std::string>& known) {
  if (key.text() == "<<") {
    problems_.Add(path.Key("<<"), key, "merge keys are not supported",
                  "write the shared keys at the job: they are defaults for every task");
    return;
  }
  std::string suggestion;
  if (!problems_.full()) suggestion = DidYouMean(key.text(), known);
  problems_.Add(path.Key(key.text()), key, "unknown key", suggestion);
}

}  // namespace muster
