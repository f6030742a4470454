// The contract between muster and a kind of cluster. A backend asks a cluster to run executors,
// finds them again, watches them, stops them. It knows nothing of tasks.
//
// Smallest use (control does this on its bounded pool, never on the loop):
//     CallContext call{.deadline = clock.Read().boot + 10s, .stop = token};
//     for (const SubmitAnswer& answer : backend->Submit({&spec, 1}, call)) { ... }
//
// Rules that hold for every method
//  - Thread-safe; at most `Describe().parallel_calls` calls at once. Calls block; they end by
//    `call.deadline` or soon after `call.stop` was fired.
//  - A backend keeps nothing it cannot lose: a new instance over the same cluster answers the same.
//  - No retry, rate limit or cache hides here: those are control's state, so that `why` can name
//  them.
//  - A call in bulk answers for each id, in the order asked; one bad id does not spoil the others.
//  - No answer is never read as "no", "none" or "success". What may have had an effect and was not
//    answered is `kUnknown` or an error with code kOutcomeUnknown.
//  - Errors are owned: kOperator (settings, rights, disk), kCluster (throttled, down, refused),
//  kUs.
//    Quota, throttling and "no room" are kResourceExhausted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/backend_description.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "model/launch.h"

namespace muster {

struct CallContext {
  BootTime deadline;
  std::stop_token stop;
};

struct SubmitAnswer {
  enum class Kind : uint8_t {
    kAccepted,
    // This request has no effect, now or later. Of an earlier one of the same launch with unknown
    // outcome it says nothing: only Find does.
    kRefused,
    // It may or may not be there, now or later: ask Find, or Submit again.
    kUnknown,
  };
  LaunchId id;
  Kind kind = Kind::kUnknown;
  // If accepted and known: what the cluster calls it ("pid 4711", "application_17_0001").
  std::string external_id;
  // If not accepted: why.
  std::optional<Error> error;
};

struct FindRequest {
  LaunchId id;
  // When the last Submit of it that is not known to be without effect returned; after a restart of
  // the controller, when this controller started.
  BootTime last_call;
};
struct FindAnswer {
  enum class Kind : uint8_t {
    kThere,
    // Neither there nor on its way, and never to come unless submitted again.
    kAbsent,
    kCannotTell,
  };
  LaunchId id;
  Kind kind = Kind::kCannotTell;
  std::string external_id;   // if there
  std::optional<Error> why;  // if it cannot tell
};

struct ListedLaunch {
  LaunchId id;
  StoreIdentity owner;
  std::string external_id;
  std::string name;  // as it stands in the cluster
  WallTime created;
};
struct LaunchPage {
  // Of our store id, any epoch, by rising id.
  std::vector<ListedLaunch> ours;
  // Of other stores, as far as the backend happened to see them: for lists, never touched.
  std::vector<ListedLaunch> foreign;
  // Give it to the next call; empty: this was the last page.
  std::string next;
};

// Observations were or may have been missed: look at everything again.
struct ResyncNeeded {
  std::string why;
};
using WatchEvent = std::variant<LaunchObservation, ResyncNeeded>;
// A running watch: destruction ends it, after which `on_event` is not called any more.
class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
};

struct LogChunk {
  enum class Kind : uint8_t {
    kBytes,   // `bytes` holds at least one
    kNotYet,  // nothing more at present, but the launch may still write
    kEnd,     // everything was read
    kGone,    // the launch or its log is not there (any more); what was not read cannot be
  };
  Kind kind = Kind::kNotYet;
  std::string bytes;
  // Where to go on: for the next OpenLog after a restart.
  uint64_t next_offset = 0;
};
// One thread at a time. Read does not wait for new bytes: it says kNotYet.
class LogReader {
 public:
  virtual ~LogReader() = default;
  virtual Result<LogChunk> Read(size_t max_bytes, const CallContext& call) = 0;
};

struct ProbeAnswer {
  enum class Health : uint8_t { kHealthy, kDegraded, kUnreachable };
  Health health = Health::kUnreachable;
  // Why not healthy, in words that say what to do.
  std::string why;
  std::string version;
  // What we may do there, and what not: "submit to queue etl", "no: list nodes".
  std::vector<std::string> rights;
};

// What Submit would do with a launch.
struct LaunchPlan {
  // The exact text that would be sent or run; what is secret stands as "(token)".
  std::string text;
  // What of the spec cannot be honoured here, and why; one line each.
  std::vector<std::string> not_honoured;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Pure.
  virtual BackendDescription Describe() const = 0;

  // Pure and deterministic: the same spec gives the same text.
  virtual Result<LaunchPlan> Plan(const LaunchSpec& spec) const = 0;

  // No side effect.
  virtual ProbeAnswer Probe(const CallContext& call) = 0;

  // Asks the cluster to run each launch. Idempotent by LaunchId, whatever epoch the spec carries:
  // *by-name* kinds repeat the same request and take "exists and is ours" for success; *find* kinds
  // search first, and the executor claims its launch so that a double ends itself. A launch that
  // ran and ended and is not forgotten stays accepted and is not started again.
  virtual std::vector<SubmitAnswer> Submit(std::span<const LaunchSpec> specs,
                                           const CallContext& call) = 0;

  // Says kAbsent only when certain: nothing that was sent before `last_call` can still take effect.
  // Where looks may lag behind (Describe().settle), that takes looks up to settle time after
  // last_call; before then, and where a look failed, the answer is kCannotTell. Not to be asked
  // while a Submit of the same launch is under way. No side effect.
  virtual std::vector<FindAnswer> Find(std::span<const FindRequest> launches,
                                       const CallContext& call) = 0;

  // Everything there that carries our store id, `limit` (at least 1) at a time; `from` is empty or
  // `next` of the page before. A launch that is there during all calls of a walk is in one of its
  // pages, exactly once. Safe at 10^5.
  virtual Result<LaunchPage> ListOurs(const std::string& from, size_t limit,
                                      const CallContext& call) = 0;

  // What the cluster says of each. kAbsent here means "not seen", and says as much as one look can:
  // belief is corrected by Find. kEnded with `confirmed` means: it ended, nothing of it runs any
  // more, and it will not start again. An error says nothing of any of them.
  virtual Result<std::vector<LaunchObservation>> Observe(std::span<const LaunchId> launches,
                                                         const CallContext& call) = 0;

  // Streams observations of our launches to `on_event`, called on a thread of the backend, one at a
  // time; it must not block. Each launch that is there is reported once at the start. The stream
  // may repeat and reorder. kUnimplemented where the kind has no stream (Describe().streams).
  virtual Result<std::unique_ptr<LaunchWatch>> Watch(
      std::function<void(const WatchEvent&)> on_event) = 0;

  // Asks for the end of each launch and everything in it: politely, and `grace` later by force. Ok
  // means accepted; the end itself is seen by Observe. Idempotent; repeated with a shorter grace it
  // is hurried; gone already and never there are success.
  virtual std::vector<Status> Stop(std::span<const LaunchId> launches, Duration grace,
                                   const CallContext& call) = 0;

  // Frees what is left of ended launches (records, names, logs). Idempotent; safe without an
  // earlier Submit. kFailedPrecondition while it may still run.
  virtual std::vector<Status> Forget(std::span<const LaunchId> launches,
                                     const CallContext& call) = 0;

  // What the launch itself printed, from byte `offset`. Opening never fails for a launch that is
  // not there: the reader says kNotYet or kGone.
  virtual Result<std::unique_ptr<LogReader>> OpenLog(LaunchId launch, uint64_t offset) = 0;
};

}  // namespace muster
