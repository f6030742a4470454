#include "executor/attempt_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/hash.h"

namespace muster::executor {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "muster-1";
constexpr size_t kMostUnwritten = 1 << 20;
constexpr size_t kMostWords = 1024;
enum Kind : uint8_t { kStart = 1, kEnd = 2 };

struct [[gnu::packed]] Head {
  uint32_t crc;
  uint16_t size;
  uint8_t kind;
};
struct [[gnu::packed]] StartBody {
  uint64_t job;
  uint32_t task, n, send;
  int64_t at_us;
};
// what_failed follows.
struct [[gnu::packed]] EndBody {
  StartBody start;
  int64_t pid, wall_us, user_us, system_us;
  uint64_t max_rss, output_bytes, output_dropped;
  uint32_t left_behind;
  int32_t code;
  uint8_t how, stop_cause;
};

StartBody BodyOf(AttemptId id, uint32_t send, WallTime at) {
  return {id.task.job.number, id.task.number, id.n, send, at.us};
}

template <typename Body>
void Append(std::string& out, Kind kind, const Body& body, std::string_view words = {}) {
  size_t begin = out.size();
  Head head{0, static_cast<uint16_t>(sizeof body + words.size()), kind};
  out.append(reinterpret_cast<const char*>(&head), sizeof head);
  out.append(reinterpret_cast<const char*>(&body), sizeof body);
  out.append(words);
  uint32_t crc = Crc32c(std::string_view(out).substr(begin + sizeof head.crc));
  std::memcpy(out.data() + begin, &crc, sizeof crc);
}

void AppendEnd(std::string& out, const RecordedAttempt& attempt) {
  const ExitFacts& facts = attempt.facts;
  EndBody body{BodyOf(attempt.id, attempt.send, attempt.started),
               attempt.pid,
               facts.wall.count(),
               facts.user_cpu.count(),
               facts.system_cpu.count(),
               facts.max_rss.value,
               facts.output_bytes,
               facts.output_dropped,
               facts.left_behind,
               facts.code,
               static_cast<uint8_t>(facts.how),
               static_cast<uint8_t>(facts.stop_cause)};
  Append(out, kEnd, body, std::string_view(facts.what_failed).substr(0, kMostWords));
}

RecordedAttempt ToAttempt(const StartBody& body) {
  RecordedAttempt attempt;
  attempt.id = {{{body.job}, body.task}, body.n};
  attempt.send = body.send;
  attempt.started = {body.at_us};
  return attempt;
}

RecordedAttempt ToAttempt(const EndBody& body, std::string_view words) {
  RecordedAttempt attempt = ToAttempt(body.start);
  attempt.ended = true;
  attempt.pid = body.pid;
  ExitFacts& facts = attempt.facts;
  facts.how = static_cast<ExitFacts::How>(body.how);
  facts.code = body.code;
  facts.what_failed = words;
  facts.stop_cause = static_cast<StopCause>(body.stop_cause);
  facts.started = attempt.started;
  facts.wall = Duration(body.wall_us);
  facts.user_cpu = Duration(body.user_us);
  facts.system_cpu = Duration(body.system_us);
  facts.max_rss = {body.max_rss};
  facts.left_behind = body.left_behind;
  facts.output_bytes = body.output_bytes;
  facts.output_dropped = body.output_dropped;
  return attempt;
}

// errno, 0 if all was written.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

Result<UniqueFd> Create(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError("open the attempt record " + path, errno);
  if (int error = WriteAll(fd.get(), kMagic)) return ErrnoError("write " + path, error);
  return fd;
}

}  // namespace

Result<AttemptRecord> AttemptRecord::Open(std::string path) {
  ASSIGN_OR_RETURN(UniqueFd fd, Create(path));
  AttemptRecord record(std::move(path), std::move(fd));
  record.size_ = kMagic.size();
  return record;
}

void AttemptRecord::AddStart(AttemptId id, uint32_t send, WallTime at) {
  Append(unwritten_, kStart, BodyOf(id, send, at));
}

void AttemptRecord::AddEnd(const RecordedAttempt& attempt) { AppendEnd(unwritten_, attempt); }

Status AttemptRecord::Write() {
  if (unwritten_.empty()) return Status::Ok();
  int error = WriteAll(fd_.get(), unwritten_);
  if (error == 0) {
    size_ += unwritten_.size();
    unwritten_.clear();
    return Status::Ok();
  }
  // A half-written record would end the reading there.
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) error = errno;
  if (unwritten_.size() > kMostUnwritten) unwritten_.clear();
  return ErrnoError("write the attempt record " + path_, error);
}

Status AttemptRecord::Rewrite(const std::vector<RecordedAttempt>& live) {
  std::string bytes;
  for (const RecordedAttempt& attempt : live) {
    Append(bytes, kStart, BodyOf(attempt.id, attempt.send, attempt.started));
    if (attempt.ended) AppendEnd(bytes, attempt);
  }
  std::string next = path_ + ".new";
  ASSIGN_OR_RETURN(UniqueFd fd, Create(next));
  if (int error = WriteAll(fd.get(), bytes)) return ErrnoError("write " + next, error);
  if (::rename(next.c_str(), path_.c_str()) != 0) {
    return ErrnoError("rename " + next + " to " + path_, errno);
  }
  fd_ = std::move(fd);
  size_ = kMagic.size() + bytes.size();
  unwritten_.clear();
  return Status::Ok();
}

Result<std::vector<RecordedAttempt>> ReadAttemptRecord(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoError("open the attempt record " + path, errno);
  std::string all{std::istreambuf_iterator<char>(file), {}};
  std::string_view rest = all;
  if (rest.substr(0, kMagic.size()) != kMagic) {
    return OperatorError(ErrorCode::kDataLoss, "read " + path + ": not an attempt record");
  }
  rest.remove_prefix(kMagic.size());
  std::vector<RecordedAttempt> attempts;
  std::unordered_map<AttemptId, size_t> places;
  auto put = [&](RecordedAttempt attempt) {
    auto [place, added] = places.emplace(attempt.id, attempts.size());
    if (added) {
      attempts.push_back(std::move(attempt));
    } else {
      attempts[place->second] = std::move(attempt);
    }
  };
  while (rest.size() >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, rest.data(), sizeof head);
    if (rest.size() < sizeof head + head.size) break;
    std::string_view checked =
        rest.substr(sizeof head.crc, sizeof head + head.size - sizeof head.crc);
    if (Crc32c(checked) != head.crc) break;
    std::string_view body = rest.substr(sizeof head, head.size);
    rest.remove_prefix(sizeof head + head.size);
    if (head.kind == kStart && body.size() >= sizeof(StartBody)) {
      StartBody start;
      std::memcpy(&start, body.data(), sizeof start);
      put(ToAttempt(start));
    } else if (head.kind == kEnd && body.size() >= sizeof(EndBody)) {
      EndBody end;
      std::memcpy(&end, body.data(), sizeof end);
      put(ToAttempt(end, body.substr(sizeof end)));
    }
  }
  return attempts;
}

}  // namespace muster::executor
