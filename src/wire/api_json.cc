#include "wire/api_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/base64.h"
#include "wire/named_texts.h"
#include "wire/view_reader.h"
#include "wire/view_writer.h"

namespace muster {
namespace {

template <typename T>
Result<T> Read(std::string_view json, std::string_view what) {
  DocParse document = ParseJsonTree(json);
  std::string problem;
  T view{};
  if (document.error) {
    problem = document.error->message;
  } else {
    const DocPath top;
    ViewReader reader(document.tree.root(), top, problem);
    fields::Visit(reader, view);
  }
  if (problem.empty()) return view;
  return Error{ErrorCode::kInvalidArgument, ErrorOwner::kUs,
               fmt::format("read {} from {} bytes of JSON: {}", what, json.size(), problem), ""};
}

}  // namespace

void PutNamedTexts(const std::vector<std::pair<std::string, std::string>>& pairs,
                   JsonWriter& json) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : pairs) names.push_back(name);
  std::sort(names.begin(), names.end());
  bool object = std::adjacent_find(names.begin(), names.end()) == names.end() &&
                std::all_of(names.begin(), names.end(), IsUtf8);
  object ? json.BeginObject() : json.BeginList();
  for (const auto& [name, value] : pairs) {
    if (!object) {
      json.BeginObject();
      json.Key("name");
      json.Text(name);
    }
    json.Key(object ? std::string_view(name) : "value");
    json.Text(value);
    if (!object) json.EndObject();
  }
  object ? json.EndObject() : json.EndList();
}

void ViewWriter::Put(fields::Pairs& pairs) { PutNamedTexts(pairs.value, json_); }

void ViewWriter::Put(fields::ByEndKind& counts) {
  json_.BeginObject();
  for (size_t i = 0; i < counts.value.size(); ++i) {
    if (counts.value[i] == 0) continue;
    json_.Key(ToString(static_cast<EndKind>(i)));
    json_.Whole(counts.value[i]);
  }
  json_.EndObject();
}

std::optional<DocRef> ViewReader::Next(std::string_view key) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[(next_ + i) % entries_.size()];
    if (entry.key.text() != key) continue;
    next_ = (next_ + i + 1) % entries_.size();
    return entry.value;
  }
  return std::nullopt;
}

void ViewReader::FailAt(const DocPath& path, std::string_view what) {
  if (!problem_.empty()) return;
  std::string where = path.Text();
  problem_ = where.empty() ? std::string(what) : fmt::format("{}: {}", where, what);
}

void ViewReader::Get(DocRef value, const DocPath& path, std::string& text) {
  if (value.is_scalar()) {
    text = value.text();
    return;
  }
  std::optional<DocRef> inner = value.Find("base64");
  std::optional<std::string> bytes = inner ? FromBase64(inner->text()) : std::nullopt;
  if (bytes) {
    text = std::move(*bytes);
  } else {
    FailAt(path, "a string is expected");
  }
}

void ViewReader::Get(DocRef value, const DocPath& path, bool& truth) {
  if (value.text() != "true" && value.text() != "false") FailAt(path, "true or false is expected");
  truth = value.text() == "true";
}

void ViewReader::Get(DocRef value, const DocPath& path, WallTime& time) {
  Result<WallTime> parsed = ParseRfc3339(value.text());
  if (parsed.ok()) {
    time = *parsed;
  } else {
    FailAt(path, parsed.error().message);
  }
}

void ViewReader::Get(DocRef value, const DocPath& path, fields::Pairs& pairs) {
  pairs.value.clear();
  if (!value.is_map() && !value.is_list()) FailAt(path, "an object is expected");
  value.ForEachEntry([&](DocRef key, DocRef text) {
    auto& [name, into] = pairs.value.emplace_back();
    name = key.text();
    Get(text, path.Key(key.text()), into);
  });
  value.ForEachItem([&](DocRef item) {
    auto& [name, into] = pairs.value.emplace_back();
    std::optional<DocRef> named = item.Find("name");
    std::optional<DocRef> text = item.Find("value");
    if (!named || !text) {
      FailAt(path, "a name and a value are expected");
      return;
    }
    Get(*named, path.Key("name"), name);
    Get(*text, path.Key("value"), into);
  });
}

void ViewReader::Get(DocRef value, const DocPath& path, fields::ByEndKind& counts) {
  if (!value.is_map()) FailAt(path, "an object is expected");
  counts.value.fill(0);
  value.ForEachEntry([&](DocRef key, DocRef count) {
    // A kind of a newer version has no column here.
    std::optional<EndKind> kind = ParseEndKind(key.text());
    if (kind) Get(count, path.Key(key.text()), counts.value[static_cast<size_t>(*kind)]);
  });
}

template <typename T>
std::string ViewToJson(const T& view) {
  JsonWriter json;
  ViewWriter writer(json);
  // Only read through; Visit serves readers too and cannot take it const.
  writer.Object(const_cast<T&>(view));  // NOLINT
  return std::move(json).Take();
}

template <typename T>
Result<T> ViewFromJson(std::string_view json) {
  return Read<T>(json, "a view");
}

std::string ApiErrorToJson(const ApiError& error) { return ViewToJson(error); }
Result<ApiError> ApiErrorFromJson(std::string_view json) {
  return Read<ApiError>(json, "an error");
}

#define MUSTER_VIEW(...)                                                 \
  template std::string ViewToJson<__VA_ARGS__>(const __VA_ARGS__& view); \
  template Result<__VA_ARGS__> ViewFromJson<__VA_ARGS__>(std::string_view json)
MUSTER_VIEW(JobView);
MUSTER_VIEW(TaskView);
MUSTER_VIEW(TaskDetail);
MUSTER_VIEW(AttemptView);
MUSTER_VIEW(WhyView);
MUSTER_VIEW(ExecutorView);
MUSTER_VIEW(ServerView);
MUSTER_VIEW(Page<JobView>);
MUSTER_VIEW(Page<TaskView>);
MUSTER_VIEW(Page<AttemptView>);
MUSTER_VIEW(Page<WhyView>);
MUSTER_VIEW(Page<ExecutorView>);

}  // namespace muster
