// What this machine can do at most, for the ratios of the bench table. Prints one JSON object.
//
//   bench_limits PROGRAM [N]
//
// spawn_per_s      PROGRAM started by clone(VM|VFORK) and waited for, two loops side by side
// spawn_cpu_us     processor time of one such start, run and end, starter's share included
// spawn_wait_us    one loop alone: median wall time of start + wait
// round_trip_us    median of one byte there and back over a unix socket between two processes
// fdatasync_us     median of a 512-byte write + fdatasync in the current folder
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double Micros(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Start {
  char** argv;
};

int Child(void* argument) {
  auto* start = static_cast<Start*>(argument);
  ::execve(start->argv[0], start->argv, environ);
  ::_exit(127);
}

void SpawnAndWait(Start& start, char* stack_top) {
  pid_t pid = ::clone(Child, stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
  if (pid < 0) {
    std::perror("clone");
    std::exit(1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) {
    std::fprintf(stderr, "%s ended with status %d\n", start.argv[0], status);
    std::exit(1);
  }
}

// N starts, one after the other.
void SpawnLoop(char* program, int n) {
  std::vector<char> stack(64 << 10);
  char* argv[] = {program, nullptr};
  Start start{argv};
  for (int i = 0; i < n; ++i) SpawnAndWait(start, stack.data() + stack.size());
}

double CpuOfChildrenUs() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  auto micros = [](timeval t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

void MeasureSpawns(char* program, int n, double& per_second, double& cpu_us) {
  double cpu_before = CpuOfChildrenUs();
  auto begin = Clock::now();
  for (int side = 0; side < 2; ++side) {
    if (::fork() == 0) {
      SpawnLoop(program, n / 2);
      ::_exit(0);
    }
  }
  while (::wait(nullptr) > 0) {
  }
  per_second = n / (Micros(Clock::now() - begin) / 1e6);
  cpu_us = (CpuOfChildrenUs() - cpu_before) / n;
}

double MeasureSpawnWait(char* program) {
  std::vector<char> stack(64 << 10);
  char* argv[] = {program, nullptr};
  Start start{argv};
  std::vector<double> times;
  for (int i = 0; i < 500; ++i) {
    auto begin = Clock::now();
    SpawnAndWait(start, stack.data() + stack.size());
    times.push_back(Micros(Clock::now() - begin));
  }
  return Median(times);
}

double MeasureRoundTrip() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::exit(1);
  pid_t echo = ::fork();
  if (echo == 0) {
    char byte = 0;
    while (::read(ends[1], &byte, 1) == 1 && ::write(ends[1], &byte, 1) == 1) {
      if (byte == 'q') break;
    }
    ::_exit(0);
  }
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    auto begin = Clock::now();
    char byte = i + 1 < 2000 ? 'x' : 'q';
    if (::write(ends[0], &byte, 1) != 1 || ::read(ends[0], &byte, 1) != 1) std::exit(1);
    times.push_back(Micros(Clock::now() - begin));
  }
  ::waitpid(echo, nullptr, 0);
  return Median(times);
}

double MeasureSync() {
  char path[] = "bench-limits-XXXXXX";
  int fd = ::mkstemp(path);
  if (fd < 0) return 0;
  ::unlink(path);
  std::vector<char> block(512, 'x');
  std::vector<double> times;
  if (::posix_fallocate(fd, 0, 1 << 20) != 0) return 0;
  ::fsync(fd);
  for (int i = 0; i < 100; ++i) {
    auto begin = Clock::now();
    if (::pwrite(fd, block.data(), block.size(), i * 512) != 512) return 0;
    ::fdatasync(fd);
    times.push_back(Micros(Clock::now() - begin));
  }
  ::close(fd);
  return Median(times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_limits PROGRAM [N]\n");
    return 2;
  }
  int n = argc > 2 ? std::atoi(argv[2]) : 20000;
  double per_second = 0;
  double cpu_us = 0;
  MeasureSpawns(argv[1], n, per_second, cpu_us);
  std::printf(
      "{\"spawn_per_s\": %.0f, \"spawn_cpu_us\": %.1f, \"spawn_wait_us\": %.1f, "
      "\"round_trip_us\": %.1f, \"fdatasync_us\": %.1f}\n",
      per_second, cpu_us, MeasureSpawnWait(argv[1]), MeasureRoundTrip(), MeasureSync());
  return 0;
}
