// Starts one program as a child of a single-threaded process that has all signals blocked and all
// dispositions at their defaults: clone(CLONE_VM | CLONE_VFORK), so the caller stands still until
// the child has exec'ed, and the child tells through shared memory what failed.
#pragma once

#include <sys/types.h>

#include <string>

namespace muster {

struct ProgramPlan {
  // NULL-terminated. argv[-1] must be writable memory: it is used when a file without "#!" line is
  // run by /bin/sh, as execvp does.
  char** argv = nullptr;
  char** env = nullptr;
  const char* cwd = nullptr;   // "" stays where the caller is
  const char* path = nullptr;  // the program's own PATH, searched if argv[0] has no '/'
  int stdout_fd = -1;
  int stderr_fd = -1;
};

struct ProgramStart {
  pid_t pid = 0;  // 0 if it did not start
  int error_number = 0;
  std::string what_failed;  // "exec /bin/foo", "chdir /x"
};

// The child leads a session of its own, dies with the caller (parent-death signal), has /dev/null
// or whatever the caller has as standard input, and all descriptors that are not close-on-exec.
ProgramStart StartChild(const ProgramPlan& plan);

}  // namespace muster
