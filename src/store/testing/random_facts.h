// Facts of every kind with every field filled, from a seed.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/random.h"
#include "core/fact.h"
#include "store/fact_fields.h"

namespace muster::store {

class RandomFacts {
 public:
  explicit RandomFacts(Random& random) : random_(random) {}

  // A fact of the kind at `index` of the variant.
  core::Fact Make(size_t index) {
    return MakeAny(index, std::make_index_sequence<std::variant_size_v<core::Fact>>());
  }
  core::Fact Make() { return Make(random_.Below(std::variant_size_v<core::Fact>)); }

  template <typename T>
  void operator()(uint32_t, T& field) {
    Fill(field);
  }

 private:
  template <size_t... indexes>
  core::Fact MakeAny(size_t index, std::index_sequence<indexes...>) {
    core::Fact fact;
    ((indexes == index ? void(VisitFields(fact.emplace<indexes>(), *this)) : void()), ...);
    return fact;
  }

  // Small, large and extreme numbers.
  uint64_t Number() {
    switch (random_.Below(4)) {
      case 0:
        return random_.Below(3);
      case 1:
        return random_.Below(100000);
      case 2:
        return ~uint64_t{0} >> random_.Below(64);
      default:
        return random_.Next();
    }
  }
  std::string Text() {
    std::string text(random_.Below(20), '\0');
    for (char& c : text) c = static_cast<char>(random_.Next());
    return text;
  }

  template <typename T>
  void Fill(T& field) {
    if constexpr (std::is_same_v<T, std::string>) {
      field = Text();
    } else if constexpr (std::is_same_v<T, bool>) {
      field = random_.Percent(50);
    } else if constexpr (std::is_same_v<T, WallTime>) {
      field = {static_cast<int64_t>(Number())};
    } else if constexpr (std::is_same_v<T, Duration>) {
      field = Duration{static_cast<int64_t>(Number())};
    } else if constexpr (std::is_same_v<T, Bytes> || std::is_same_v<T, MilliCpu>) {
      field = {Number()};
    } else if constexpr (std::is_same_v<T, EndKind>) {
      field = static_cast<EndKind>(random_.Below(kEndKinds));
    } else if constexpr (std::is_same_v<T, RetryClass>) {
      field = static_cast<RetryClass>(random_.Below(5));
    } else if constexpr (std::is_same_v<T, LaunchState>) {
      field = static_cast<LaunchState>(random_.Below(6));
    } else if constexpr (std::is_same_v<T, ExitFacts::How> || std::is_same_v<T, StopCause>) {
      field = static_cast<T>(random_.Below(4));
    } else if constexpr (std::is_integral_v<T>) {
      field = static_cast<T>(Number());
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const JobSpec>>) {
      auto spec = std::make_shared<JobSpec>();
      spec->name = "job " + std::to_string(random_.Below(1000));
      spec->cwd = "/somewhere";
      spec->tasks.emplace_back().name = "count";
      spec->tasks.back().command = ShellCommand{"echo {item}"};
      spec->tasks.back().each = IndexRange{1, static_cast<int64_t>(random_.Below(100)) + 1, 1};
      field = std::move(spec);
    } else if constexpr (requires { field.number; }) {
      Fill(field.number);
    } else {
      field.clear();
      for (uint64_t i = random_.Below(4); i > 0; --i) {
        auto& [name, value] = field.emplace_back();
        Fill(name);
        Fill(value);
      }
    }
  }

  Random& random_;
};

}  // namespace muster::store
