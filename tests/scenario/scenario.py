"""What every scenario needs: the real program in a folder of its own, a witness, and a way to wait.

A scenario is a program of its own: it exits 0 if what it promises held, prints what it measured, and
leaves no process behind. Times are upper bounds.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MUSTER = os.environ.get("MUSTER_BIN", "")
WITNESS = os.environ.get("MUSTER_WITNESS_BIN", "")
LONG = os.environ.get("MUSTER_TEST_SHARE") == "long"


class Broken(AssertionError):
    """A promise did not hold."""


def check(holds, message):
    if not holds:
        raise Broken(message)


def eventually(condition, limit=10.0, pause=0.05, what="condition"):
    """Polls until `condition()` is true; its last value."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise Broken(f"not within {limit} s: {what}")
        time.sleep(pause)


def processes_naming(text):
    """Pids of living processes whose command line or environment holds `text`; ours left out."""
    found = []
    needle = text.encode()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "Z":
                continue
            if needle in (entry / "cmdline").read_bytes() or needle in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Home:
    """A folder with a state folder in it, and muster called with it."""

    def __init__(self, prefix="muster-scenario-"):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
        self.state = self.path / "state"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        self.env.update(HOME=str(self.path), MUSTER_STATE_DIR=str(self.state),
                        XDG_CONFIG_HOME=str(self.path / "config"))
        self.server = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_all()
        shutil.rmtree(self.path, ignore_errors=True)

    def end_all(self):
        self.stop_server(signal.SIGKILL)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            left = processes_naming(str(self.path))
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)

    def run(self, *words, stdin=None, timeout=120, env=None, cwd=None):
        """muster with these words; CompletedProcess with bytes."""
        source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        return subprocess.run([MUSTER, *map(str, words)], capture_output=True, timeout=timeout,
                              env={**self.env, **(env or {})}, cwd=cwd or self.path, check=False,
                              **source)

    def ok(self, *words, **more):
        done = self.run(*words, **more)
        check(done.returncode == 0, f"muster {' '.join(map(str, words))} exited {done.returncode}: "
              f"{done.stderr.decode(errors='replace')}{done.stdout.decode(errors='replace')[-500:]}")
        return done.stdout.decode(errors="surrogateescape")

    def json(self, *words, **more):
        return json.loads(self.ok("--json", *words, **more))

    def start(self, *words, **more):
        """muster in the background; Popen."""
        return subprocess.Popen([MUSTER, *map(str, words)], env=self.env, cwd=self.path,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def serve(self, limit=20):
        """A standing controller; returns once it answers."""
        log = open(self.path / "serve.log", "ab")
        self.server = subprocess.Popen([MUSTER, "serve"], env=self.env, cwd=self.path,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        eventually(lambda: self.run("version").stdout.count(b"controller "), limit,
                   what="the controller answers; " + self.serve_log())
        return self.server

    def serve_log(self):
        try:
            return (self.path / "serve.log").read_text(errors="replace")[-2000:]
        except OSError:
            return ""

    def stop_server(self, how=signal.SIGTERM):
        if self.server and self.server.poll() is None:
            self.server.send_signal(how)
            self.server.wait(30)
        self.server = None

    def submit(self, text, *words):
        """A job file's text; the job's id."""
        return self.ok("submit", *words, "-", stdin=text.encode()).strip()

    def job(self, job):
        return self.json("info", job)

    def tasks(self, job, *words):
        """All tasks of a job, page after page."""
        items, after = [], None
        while True:
            more = ["--after", after] if after else []
            page = self.json("ps", job, "--limit", "10000", *more, *words)
            items += page["items"]
            if not page.get("next"):
                return items
            after = page["items"][-1]["id"].split(".")[1]


class WitnessLog:
    """What witnesses wrote: for each task its attempts with starts and ends."""

    def __init__(self, path):
        self.starts, self.ends = {}, {}
        try:
            lines = pathlib.Path(path).read_text().splitlines()
        except FileNotFoundError:
            lines = []
        for line in lines:
            task, attempt, _, pid, what, *rest = line.split()
            target = self.starts if what == "start" else self.ends
            target.setdefault(task, []).append((int(attempt), int(pid), rest))

    def exactly_once(self, tasks):
        """Empty if each task has exactly one pair; else what is wrong, first ten."""
        wrong = []
        for task in tasks:
            starts, ends = self.starts.get(task, []), self.ends.get(task, [])
            if len(starts) != 1 or len(ends) != 1:
                wrong.append(f"{task}: {len(starts)} starts, {len(ends)} ends")
        return wrong[:10]


def main(*scenarios):
    """Runs the functions one after the other; exit code 1 if one broke."""
    if not MUSTER or not os.access(MUSTER, os.X_OK):
        print("MUSTER_BIN names no program", file=sys.stderr)
        sys.exit(1)
    broken = 0
    for scenario in scenarios:
        begin = time.monotonic()
        try:
            scenario()
            verdict = "holds"
        except (Broken, subprocess.TimeoutExpired) as error:
            verdict = f"BROKEN: {error}"
            broken += 1
        print(f"{scenario.__name__}: {verdict} ({time.monotonic() - begin:.1f} s)", flush=True)
    sys.exit(1 if broken else 0)
