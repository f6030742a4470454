#include "wire/api_messages.h"

#include <fmt/format.h>

#include <charconv>

#include "wire/base64.h"
#include "wire/doc_tree.h"
#include "wire/json.h"

namespace muster {
namespace {

using nlohmann::json;

json Text(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  return {{"base64", ToBase64(text)}};
}

Error Bad(std::string_view what, std::string_view why) {
  return UserError(ErrorCode::kInvalidArgument, fmt::format("{}: {}", what, why));
}

// Reads `text` as an object and hands it to `read`, which may throw what nlohmann throws.
template <typename T, typename F>
Result<T> Read(std::string_view what, std::string_view text, F&& read) {
  try {
    json object = json::parse(text);
    if (!object.is_object()) return Bad(what, "it is not a JSON object");
    return read(object);
  } catch (const json::exception& thrown) {
    return Bad(what, thrown.what());
  }
}

}  // namespace

std::string ToJson(const SubmitMessage& message) {
  return json{{"job", Render(message.job)}, {"repeated", message.repeated}}.dump();
}
Result<SubmitMessage> SubmitMessageFromJson(std::string_view text) {
  return Read<SubmitMessage>("submit answer", text, [](const json& object) -> Result<SubmitMessage> {
    ASSIGN_OR_RETURN(JobId job, ParseJobId(object.at("job").get<std::string>()));
    return SubmitMessage{job, object.value("repeated", false)};
  });
}

std::string ToJson(const CancelRequestMessage& message) {
  json tasks = json::array();
  for (auto [first, last] : message.tasks) tasks.push_back({first, last});
  return json{{"tasks", tasks}, {"abandon", message.abandon}}.dump();
}
Result<CancelRequestMessage> CancelRequestMessageFromJson(std::string_view text) {
  if (text.empty()) return CancelRequestMessage{};
  return Read<CancelRequestMessage>(
      "cancel request", text, [](const json& object) -> Result<CancelRequestMessage> {
        CancelRequestMessage message;
        for (const auto& [key, value] : object.items()) {
          if (key != "tasks" && key != "abandon") {
            return Bad("cancel request", fmt::format("unknown key '{}' (known: tasks, abandon)", key));
          }
        }
        if (object.contains("tasks")) {
          for (const json& range : object.at("tasks")) {
            message.tasks.emplace_back(range.at(0).get<uint32_t>(), range.at(1).get<uint32_t>());
          }
        }
        message.abandon = object.value("abandon", false);
        return message;
      });
}

std::string ToJson(const CancelMessage& message) {
  return json{{"ended", message.ended}, {"stopping", message.stopping}}.dump();
}
Result<CancelMessage> CancelMessageFromJson(std::string_view text) {
  return Read<CancelMessage>("cancel answer", text, [](const json& object) -> Result<CancelMessage> {
    return CancelMessage{object.at("ended").get<uint64_t>(), object.at("stopping").get<uint64_t>()};
  });
}

std::string ToJson(const OutputEvent& event) {
  return json{{"task", event.task},
              {"attempt", event.attempt},
              {"stream", event.stream},
              {"offset", event.offset},
              {"data", Text(event.data)}}
      .dump();
}
Result<OutputEvent> OutputEventFromJson(std::string_view text) {
  return Read<OutputEvent>("output event", text, [](const json& object) -> Result<OutputEvent> {
    OutputEvent event;
    event.task = object.at("task").get<uint32_t>();
    event.attempt = object.at("attempt").get<uint32_t>();
    event.stream = object.at("stream").get<std::string>();
    event.offset = object.at("offset").get<uint64_t>();
    const json& data = object.at("data");
    if (data.is_string()) {
      event.data = data.get<std::string>();
      return event;
    }
    auto bytes = FromBase64(data.at("base64").get<std::string>());
    if (!bytes) return Bad("output event", "data is not base 64");
    event.data = std::move(*bytes);
    return event;
  });
}

std::string LaunchesToJson(const std::vector<LaunchMessage>& launches) {
  json items = json::array();
  for (const LaunchMessage& launch : launches) {
    items.push_back({{"id", Render(launch.id)},
                     {"cluster", Text(launch.cluster)},
                     {"executor", Render(launch.executor)},
                     {"state", launch.state},
                     {"external_id", Text(launch.external_id)},
                     {"reason", Text(launch.reason)}});
  }
  return json{{"items", items}, {"total", launches.size()}}.dump();
}

}  // namespace muster
