// Finds the route for a method and a path. Pure.
//
//     Router router;
//     router.Add("GET", "/v1/jobs/{id}/tasks", 7);
//     router.Find("GET", "/v1/jobs/j12/tasks")   ->  {kFound, 7, {{"id", "j12"}}}
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class Router {
 public:
  enum class Outcome { kFound, kNoSuchPath, kNoSuchMethod, kBadPath };
  struct Match {
    Outcome outcome = Outcome::kNoSuchPath;
    size_t route = 0;
    std::map<std::string, std::string> parameters;  // decoded
    std::vector<std::string> allowed;               // methods of that path, when kNoSuchMethod
  };

  // A segment "{name}" matches any one segment; where several patterns match, the one with a word
  // where the others have a parameter wins. HEAD is served by GET's route unless it has its own.
  void Add(std::string method, std::string_view pattern, size_t route);
  // `raw_path` is still percent-encoded: an encoded slash does not divide segments.
  Match Find(std::string_view method, std::string_view raw_path) const;

 private:
  struct Segment {
    std::string text;
    bool is_parameter = false;
  };
  struct Entry {
    std::string method;
    std::vector<Segment> segments;
    size_t route = 0;
  };
  static bool Matches(const Entry& entry, const std::vector<std::string>& path);
  static bool IsMoreSpecific(const Entry& a, const Entry& b);

  std::vector<Entry> entries_;
};

}  // namespace muster
