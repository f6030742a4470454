#include "executor/controller_link.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "wire/executor_frames.h"

namespace muster::executor {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(1);
constexpr Duration kDialLimit = std::chrono::seconds(5);
constexpr Duration kGoodbyeLimit = std::chrono::seconds(1);
constexpr size_t kMostPending = 4 << 20;

}  // namespace

ControllerLink::ControllerLink(EventLoop& loop, Endpoint controller, std::string target,
                               Random random, Events events)
    : loop_(loop),
      controller_(std::move(controller)),
      target_(std::move(target)),
      random_(random),
      events_(std::move(events)) {}

void ControllerLink::Dial() {
  WebSocketLimits limits;
  limits.max_message = Bytes{kMaxFrameBytes};
  WebSocket::Connect(
      loop_, controller_, target_, {}, kDialLimit,
      [this, alive = std::weak_ptr<char>(alive_)](Result<std::shared_ptr<WebSocket>> dialled) {
        if (!alive.expired()) OnDialled(std::move(dialled));
      },
      limits);
}

void ControllerLink::OnDialled(Result<std::shared_ptr<WebSocket>> dialled) {
  if (on_goodbye_) return;
  if (!dialled.ok()) {
    if (!said_unreachable_) LogWarning("dialling on: {}", dialled.error().ToString());
    said_unreachable_ = true;
    return DialLater();
  }
  said_unreachable_ = false;
  LogInfo("connected to the controller at {}", Render(controller_));
  socket_ = std::move(*dialled);
  socket_->OnClosed([this](const Error& reason) { OnClosed(reason); });
  socket_->OnMessage([this](std::string_view message) { events_.on_message(message); });
  events_.on_connected();
}

void ControllerLink::OnClosed(const Error& reason) {
  socket_.reset();
  if (on_goodbye_) return std::exchange(on_goodbye_, [] {})();
  LogInfo("the connection to the controller ended: {}", reason.ToString());
  events_.on_disconnected();
  DialLater();
}

void ControllerLink::Cut(std::string_view why) {
  if (socket_ == nullptr) return;
  LogWarning("cutting the connection: {}", why);
  socket_.reset();
  DialLater();
}

void ControllerLink::DialLater() {
  Duration pause = std::min<Duration>(kFirstPause * (1 << std::min(failures_, 8U)), kLongestPause);
  ++failures_;
  // From half to one and a half of it, so that many do not come at once.
  pause = pause / 2 + Duration(random_.Below(static_cast<uint64_t>(pause.count())));
  loop_.RunAfter(pause, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired() && !on_goodbye_ && socket_ == nullptr) Dial();
  });
}

bool ControllerLink::can_send() const {
  return socket_ != nullptr && socket_->pending_bytes() < kMostPending;
}

void ControllerLink::Close(std::string_view why, std::function<void()> done) {
  on_goodbye_ = std::move(done);
  if (socket_ == nullptr) return std::exchange(on_goodbye_, [] {})();
  socket_->Close(why);
  loop_.RunAfter(kGoodbyeLimit, [this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) std::exchange(on_goodbye_, [] {})();
  });
}

}  // namespace muster::executor
