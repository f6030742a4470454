// The executor's end of the spawner: a zygote process that forks one small slot process for each
// slot. Programs are started by slot processes, never by the executor itself, so it may have
// threads, be large and be non-dumpable.
//
//     int main() {
//       Result<Spawner> spawner = Spawner::Fork();   // before any thread exists
//       ...
//       TaskRunner runner(loop, std::move(*spawner), events);
//
// Owned by TaskRunner, used on its loop's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/spawn_protocol.h"

namespace muster {

class Spawner {
 public:
  // Forks the zygote. Call it before any thread exists and before secrets are in memory.
  static Result<Spawner> Fork();
  Spawner(Spawner&& other) noexcept;
  Spawner& operator=(Spawner&&) = delete;
  // Ends the zygote and all slot processes with their trees, and waits for that, 5 s at most.
  ~Spawner();

  // Says that this process has no children but the zygote: it becomes the reaper of what is left if
  // zygote and slot processes are killed, and may end every other child it then finds.
  void AdoptOrphans();
  // After the zygote's end: kills and reaps what was adopted. Without AdoptOrphans it does nothing.
  void EndOrphans();

  // Makes the slot process `slot` (any number in use once), which serves the other end of
  // `slot_socket`. Returns before it exists; a failure is a report.
  Status Open(uint32_t slot, UniqueFd slot_socket);

  // Readable when a report or a hang-up is there.
  int fd() const { return socket_.get(); }
  // The next report; nothing if there is none now. When the zygote is found gone, alive() is false.
  std::optional<ZygoteReport> NextReport();
  bool alive() const { return alive_; }
  pid_t pid() const { return zygote_; }

 private:
  Spawner(UniqueFd socket, pid_t zygote) : socket_(std::move(socket)), zygote_(zygote) {}

  UniqueFd socket_;
  pid_t zygote_ = 0;
  bool alive_ = true;
  bool adopts_ = false;
};

}  // namespace muster
