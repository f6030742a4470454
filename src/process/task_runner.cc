#include "process/task_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "process/packet_socket.h"

namespace muster {
namespace {

// How much of one pipe is read before the others have their turn.
constexpr size_t kReadAtOnce = 64 << 10;
// A program may be this far ahead of us in each stream.
constexpr int kPipeSize = 256 << 10;
constexpr size_t kReportRoom = sizeof(SlotReport) + (16 << 10);

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

Status CheckProgram(const TaskRunner::Program& program) {
  if (program.argv.empty()) {
    return UserError(ErrorCode::kInvalidArgument, "start a program: no program is named");
  }
  bool bad = HasNul(program.cwd) || std::any_of(program.argv.begin(), program.argv.end(), HasNul) ||
             std::any_of(program.env.begin(), program.env.end(), HasNul);
  if (!bad) return Status::Ok();
  return UserError(ErrorCode::kInvalidArgument,
                   "start a program: an argument, a variable or the folder holds a NUL character");
}

void AppendWord(std::string& text, const std::string& word) {
  text.append(word.c_str(), word.size() + 1);
}

Result<UniqueFd> PutIntoMemfd(std::string_view text) {
  UniqueFd file(::memfd_create("muster-start", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoError("make a memory file for a large start request", errno);
  while (!text.empty()) {
    ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError("write a large start request", errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return file;
}

Result<std::pair<UniqueFd, UniqueFd>> MakePipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("make a pipe for a program's output", errno);
  std::pair<UniqueFd, UniqueFd> pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  ::fcntl(fds[0], F_SETPIPE_SZ, kPipeSize);  // may be refused: then it is as large as usual
  return pipe;
}

ExitFacts ToFacts(const SlotReport& report, std::string_view what_failed) {
  ExitFacts facts;
  facts.how = static_cast<ExitFacts::How>(report.how);
  facts.code = report.code;
  facts.what_failed = what_failed;
  facts.started = {report.started_us};
  facts.wall = Duration(report.wall_us);
  facts.user_cpu = Duration(report.user_us);
  facts.system_cpu = Duration(report.system_us);
  facts.max_rss = {report.max_rss};
  facts.left_behind = report.left_behind;
  return facts;
}

}  // namespace

struct TaskRunner::Slot {
  uint32_t number = 0;
  UniqueFd socket;
  UniqueFd stdout_pipe;
  UniqueFd stderr_pipe;
  bool busy = false;
  bool wants_pipes = true;
  bool process_gone = false;  // the socket hung up; the word of the zygote is awaited
  // Of the program that runs:
  uint64_t token = 0;
  uint64_t run = 0;
  bool reported_start = false;
  WallTime started;
  BootTime requested;
  StopCause stop_cause = StopCause::kNone;
  Duration stop_grace{0};
  uint64_t output_bytes = 0;
};

TaskRunner::TaskRunner(Loop& loop, Spawner spawner, Events events)
    : loop_(loop),
      spawner_(std::move(spawner)),
      events_(std::move(events)),
      received_(kReportRoom),
      output_(kReadAtOnce) {
  loop_.WatchFd(spawner_.fd(), [this] { OnSpawnerReadable(); });
}

TaskRunner::~TaskRunner() {
  if (spawner_.alive()) loop_.UnwatchFd(spawner_.fd());
  for (auto& slot : slots_) {
    CloseSocket(*slot);
    ClosePipes(*slot);
  }
}

Status TaskRunner::Start(uint64_t token, const Program& program) {
  RETURN_IF_ERROR(CheckProgram(program));
  if (running_.contains(token)) {
    return Error{ErrorCode::kInvalidArgument, ErrorOwner::kUs,
                 fmt::format("start a program: token {} runs already", token), ""};
  }
  if (!spawner_.alive()) {
    return OperatorError(ErrorCode::kUnavailable,
                         "start a program: the spawner process of this executor was killed");
  }
  for (;;) {
    ASSIGN_OR_RETURN(Slot * slot, TakeSlot());
    const bool is_new = slot->run == 0;
    Now now = loop_.ReadClock();
    slot->token = token;
    slot->run = ++last_run_;
    slot->reported_start = false;
    slot->requested = now.boot;
    slot->started = now.wall;
    slot->stop_cause = StopCause::kNone;
    slot->output_bytes = 0;
    if (Status sent = SendStart(*slot, program); !sent.ok()) {
      free_.push_back(slot);
      return sent;
    }
    // The slot process was killed while it was idle. Of a new one the zygote says why it is not
    // there.
    if (slot->process_gone && !is_new) continue;
    slot->busy = true;
    running_.emplace(token, slot);
    return Status::Ok();
  }
}

Result<TaskRunner::Slot*> TaskRunner::TakeSlot() {
  if (!free_.empty()) {
    Slot* slot = free_.back();
    free_.pop_back();
    return slot;
  }
  ASSIGN_OR_RETURN(PacketSocketPair pair, MakePacketSocketPair());
  auto slot = std::make_unique<Slot>();
  slot->number = ++last_slot_;
  slot->socket = std::move(pair.ours);
  RETURN_IF_ERROR(spawner_.Open(slot->number, std::move(pair.theirs)));
  Slot* opened = slot.get();
  slots_.push_back(std::move(slot));
  loop_.WatchFd(opened->socket.get(), [this, opened] { OnSlotReadable(*opened); });
  return opened;
}

// New pipes for the first program, and after one whose processes had to be killed: a descriptor may
// have been handed to somebody outside the tree.
Result<std::vector<int>> TaskRunner::GivePipes(Slot& slot, std::vector<UniqueFd>& write_ends) {
  std::vector<int> fds;
  if (!slot.wants_pipes) return fds;
  ASSIGN_OR_RETURN(auto out, MakePipe());
  ASSIGN_OR_RETURN(auto err, MakePipe());
  ClosePipes(slot);
  slot.stdout_pipe = std::move(out.first);
  slot.stderr_pipe = std::move(err.first);
  WatchPipes(slot);
  fds = {out.second.get(), err.second.get()};
  write_ends.push_back(std::move(out.second));
  write_ends.push_back(std::move(err.second));
  return fds;
}

void TaskRunner::WatchPipes(Slot& slot) {
  for (OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
    int fd = stream == OutputStream::kStdout ? slot.stdout_pipe.get() : slot.stderr_pipe.get();
    loop_.WatchFd(fd, [this, &slot, stream] { ReadPipe(slot, stream); });
  }
}

Status TaskRunner::SendStart(Slot& slot, const Program& program) {
  text_.clear();
  AppendWord(text_, program.cwd);
  for (const std::string& word : program.argv) AppendWord(text_, word);
  for (const std::string& word : program.env) AppendWord(text_, word);

  std::vector<UniqueFd> write_ends;
  ASSIGN_OR_RETURN(std::vector<int> fds, GivePipes(slot, write_ends));
  UniqueFd file;
  if (text_.size() > kMostInlineText) {
    ASSIGN_OR_RETURN(file, PutIntoMemfd(text_));
    fds.push_back(file.get());
  }
  StartProgram start;
  start.arguments = static_cast<uint32_t>(program.argv.size());
  start.variables = static_cast<uint32_t>(program.env.size());
  start.brings_pipes = slot.wants_pipes ? 1 : 0;
  start.run = slot.run;
  start.text_size = text_.size();
  iovec parts[2] = {{&start, sizeof start}, {text_.data(), text_.size()}};
  int error_number = SendPacket(slot.socket.get(), {parts, file.valid() ? 1U : 2U}, fds);
  if (error_number == EPIPE || error_number == ECONNRESET) {
    CloseSocket(slot);
    slot.process_gone = true;
    return Status::Ok();
  }
  if (error_number != 0) return ErrnoError("send a program to its slot process", error_number);
  slot.wants_pipes = false;
  return Status::Ok();
}

void TaskRunner::Stop(uint64_t token, StopCause cause, Duration grace) {
  auto found = running_.find(token);
  if (found == running_.end()) return;
  Slot& slot = *found->second;
  bool repeated = slot.stop_cause != StopCause::kNone;
  if (repeated && grace >= slot.stop_grace) return;
  if (!repeated) slot.stop_cause = cause;
  slot.stop_grace = grace;
  StopProgram stop;
  stop.run = slot.run;
  stop.grace_us = grace.count();
  iovec part{&stop, sizeof stop};
  if (slot.socket.valid()) SendPacket(slot.socket.get(), {&part, 1});
}

void TaskRunner::StopAll(StopCause cause, Duration grace) {
  for (auto& slot : slots_) {
    if (slot->busy) Stop(slot->token, cause, grace);
  }
}

void TaskRunner::OnSlotReadable(Slot& slot) { ReceiveReport(slot); }

bool TaskRunner::ReceiveReport(Slot& slot) {
  if (!slot.socket.valid()) return false;
  ReceivedPacket packet = ReceivePacket(slot.socket.get(), received_);
  if (packet.hung_up) {
    OnSlotHungUp(slot);
    return false;
  }
  if (packet.size < sizeof(SlotReport)) return false;
  SlotReport report{};
  std::memcpy(&report, received_.data(), sizeof report);
  OnReport(slot, report,
           std::string_view(received_.data() + sizeof report, packet.size - sizeof report));
  return true;
}

void TaskRunner::OnReport(Slot& slot, const SlotReport& report, std::string_view what_failed) {
  if (!slot.busy || report.run != slot.run) return;
  const uint64_t token = slot.token;
  bool starts = report.pid != 0 && !slot.reported_start;
  slot.reported_start |= starts;
  slot.started = {report.started_us};
  ExitFacts facts = ToFacts(report, what_failed);
  if (starts && events_.on_started) events_.on_started(token, report.pid, facts.started);
  if (report.kind != SlotReport::kEnded) return;
  DrainPipes(slot);
  if (report.stopped != 0) facts.stop_cause = slot.stop_cause;
  facts.output_bytes = slot.output_bytes;
  if (report.left_behind != 0 || report.stopped != 0) slot.wants_pipes = true;
  slot.busy = false;
  running_.erase(token);
  free_.push_back(&slot);
  if (events_.on_ended) events_.on_ended(token, facts);
}

bool TaskRunner::ReadPipe(Slot& slot, OutputStream stream) {
  UniqueFd& pipe = stream == OutputStream::kStdout ? slot.stdout_pipe : slot.stderr_pipe;
  if (!pipe.valid()) return false;
  ssize_t size = ::read(pipe.get(), output_.data(), output_.size());
  if (size < 0) return errno == EINTR;
  if (size == 0) {
    // All writers are gone: the slot process has been killed. Level-triggered, so no more of this.
    loop_.UnwatchFd(pipe.get());
    pipe.Reset();
    return false;
  }
  // Without a program: somebody outside an earlier program's tree holds the pipe.
  if (!slot.busy) return true;
  slot.output_bytes += static_cast<uint64_t>(size);
  if (events_.on_output) {
    events_.on_output(slot.token, stream, {output_.data(), static_cast<size_t>(size)});
  }
  return true;
}

// Bounded: the tree is gone, so nothing is added to what the pipes hold.
void TaskRunner::DrainPipes(Slot& slot) {
  while (ReadPipe(slot, OutputStream::kStdout)) {
  }
  while (ReadPipe(slot, OutputStream::kStderr)) {
  }
}

void TaskRunner::ClosePipes(Slot& slot) {
  for (UniqueFd* pipe : {&slot.stdout_pipe, &slot.stderr_pipe}) {
    if (pipe->valid()) loop_.UnwatchFd(pipe->get());
    pipe->Reset();
  }
}

void TaskRunner::CloseSocket(Slot& slot) {
  if (slot.socket.valid()) loop_.UnwatchFd(slot.socket.get());
  slot.socket.Reset();
}

void TaskRunner::OnSlotHungUp(Slot& slot) {
  CloseSocket(slot);
  slot.process_gone = true;
  std::erase(free_, &slot);
  if (spawner_.alive()) return;  // the zygote ends what is left and then reports
  spawner_.EndOrphans();
  ExitFacts facts;
  facts.how = ExitFacts::How::kLost;
  EndLost(slot, facts);
}

TaskRunner::Slot* TaskRunner::FindSlot(uint32_t number) {
  for (auto& slot : slots_) {
    if (slot->number == number) return slot.get();
  }
  return nullptr;
}

void TaskRunner::OnSpawnerReadable() {
  while (auto report = spawner_.NextReport()) OnSlotGone(*report);
  if (spawner_.alive()) return;
  LogError("process: the spawner (pid {}) is gone; its slots end with it", spawner_.pid());
  loop_.UnwatchFd(spawner_.fd());
  // Slot processes end their trees and hang up one after another; those that have already wait
  // here.
  std::vector<uint32_t> waiting;
  for (auto& slot : slots_) {
    if (slot->process_gone) waiting.push_back(slot->number);
  }
  for (uint32_t number : waiting) {
    if (Slot* slot = FindSlot(number)) OnSlotHungUp(*slot);
  }
}

void TaskRunner::OnSlotGone(const ZygoteReport& report) {
  Slot* slot = FindSlot(report.slot);
  if (slot == nullptr) return;
  // It may have reported an end before its own.
  while (ReceiveReport(*slot)) {
  }
  CloseSocket(*slot);
  std::erase(free_, slot);
  ExitFacts facts;
  facts.how = ExitFacts::How::kLost;
  if (report.kind == ZygoteReport::kForkFailed) {
    facts.how = ExitFacts::How::kNotStarted;
    facts.code = report.error_number;
    facts.what_failed = "fork a slot process";
  }
  facts.left_behind = report.left_behind;
  EndLost(*slot, facts);
}

void TaskRunner::EndLost(Slot& slot, ExitFacts facts) {
  const uint64_t token = slot.token;
  const bool was_busy = slot.busy;
  DrainPipes(slot);
  ClosePipes(slot);
  facts.started = slot.started;
  facts.wall = loop_.ReadClock().boot - slot.requested;
  facts.stop_cause = slot.stop_cause;
  facts.output_bytes = slot.output_bytes;
  std::erase_if(slots_, [&](const auto& other) { return other.get() == &slot; });
  if (!was_busy) return;
  running_.erase(token);
  if (events_.on_ended) events_.on_ended(token, facts);
}

}  // namespace muster
