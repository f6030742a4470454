// What the contract test needs of a cluster, real or not: new backend instances over it, time, and
// a look from outside that does not go through the backend.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "backend/backend.h"

namespace muster::test {

class BackendWorld {
 public:
  virtual ~BackendWorld() = default;
  // A new instance, as after a restart of the controller.
  virtual std::unique_ptr<Backend> NewBackend(const StoreIdentity& owner) = 0;
  virtual const Clock& clock() const = 0;
  // Lets a little time pass there.
  virtual void Tick() = 0;
  // How often an executor of the launch began its work, seen from outside.
  virtual size_t StartsOf(const StoreIdentity& owner, LaunchId launch) const = 0;
  // Faults strike: answers may stay out, and everything must be asked again.
  virtual bool is_faulty() const { return false; }
};

// What a launch does is said by labels, as fakes/fake_cluster.h has them.
struct WorldMaker {
  std::string name;
  std::function<std::unique_ptr<BackendWorld>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const WorldMaker& maker) {
  return out << maker.name;
}

// All worlds the contract holds in.
std::vector<WorldMaker> AllBackendWorlds();

}  // namespace muster::test
