/*
 * A witness: says in a shared file that it started and that it ended, each with one write of one line,
 * so that lines of many witnesses never mix.
 *
 *     MUSTER_TASK=j1.7 MUSTER_ATTEMPT=1 muster_witness FILE SECONDS EXIT_CODE
 *
 *     j1.7 1 host 4711 start 1700000000.000000
 *     j1.7 1 host 4711 end 1700000000.500000 0
 *
 * Exits with EXIT_CODE; 99 if it could not bear witness.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char* Variable(const char* name) {
  const char* value = getenv(name);
  return value != NULL && *value != '\0' ? value : "-";
}

static int Write(int file, const char* what, const char* tail) {
  char host[128] = "-";
  gethostname(host, sizeof host - 1);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char line[512];
  int size = snprintf(line, sizeof line, "%s %s %s %d %s %lld.%06ld%s\n", Variable("MUSTER_TASK"),
                      Variable("MUSTER_ATTEMPT"), host, (int)getpid(), what, (long long)now.tv_sec,
                      now.tv_nsec / 1000, tail);
  if (size <= 0 || size >= (int)sizeof line) return 0;
  return write(file, line, (size_t)size) == size;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: muster_witness FILE SECONDS EXIT_CODE\n");
    return 99;
  }
  int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || !Write(file, "start", "")) return 99;
  double seconds = strtod(argv[2], NULL);
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
  char tail[32];
  snprintf(tail, sizeof tail, " %d", atoi(argv[3]));
  if (!Write(file, "end", tail)) return 99;
  return atoi(argv[3]);
}
