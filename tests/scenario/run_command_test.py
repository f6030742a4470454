#!/usr/bin/env python3
"""`muster run` of one command: its output, its code, Ctrl-C, and lists."""

import os
import signal
import time

from scenario import Home, check, eventually, main, processes_naming


def returns_the_commands_own_code():
    with Home() as home:
        for words, code in [(["true"], 0), (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], 137),
                            (["sh", "-c", "kill -15 $$"], 143), (["/no/such/program"], 127),
                            (["no-such-program-here"], 127), (["/etc/passwd"], 126), (["/"], 126)]:
            done = home.run("run", "--", *words)
            check(done.returncode == code, f"{words} returned {done.returncode}, not {code}: {done.stderr}")
        done = home.run("run", "--time", "300ms", "--grace", "0s", "--", "sleep", "30")
        check(done.returncode == 125 and b"timeout" in done.stderr, f"time limit: {done}")


def passes_output_through_apart_and_byte_for_byte():
    with Home() as home:
        done = home.run("run", "--", "sh", "-c", "echo out; echo err >&2")
        check(done.stdout == b"out\n", f"stdout: {done.stdout}")
        check(b"err\n" in done.stderr, f"stderr: {done.stderr}")
        raw = bytes(range(256)) * 5000 + b"no line end"
        (home.path / "raw").write_bytes(raw)
        done = home.run("run", "--", "cat", "raw")
        check(done.stdout == raw, f"{len(done.stdout)} bytes came back of {len(raw)}")


def shows_output_while_it_runs():
    with Home() as home:
        begin = time.monotonic()
        run = home.start("run", "--", "sh", "-c", "echo first; sleep 20; echo second")
        line = run.stdout.readline()
        took = time.monotonic() - begin
        check(line == b"first\n" and took < 10, f"{line} after {took:.1f} s")
        run.send_signal(signal.SIGINT)
        run.wait(30)


def ctrl_c_leaves_no_process():
    with Home() as home:
        run = home.start("run", "--", "sh", "-c",
                         "(trap '' TERM INT; setsid sleep 1000 & exec sleep 1001) & sleep 1002; sleep 1003")
        eventually(lambda: len(processes_naming(str(home.path))) > 4, what="it runs")
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        code = run.wait(30)
        check(code == 125, f"exit code {code}: {run.stderr.read()}")
        eventually(lambda: not processes_naming(str(home.path)), 10,
                   what=f"nothing is left: {processes_naming(str(home.path))}")


def second_ctrl_c_kills():
    with Home() as home:
        script = "trap '' TERM INT; while :; do sleep 0.1; done"
        run = home.start("run", "--grace", "600s", "--", "sh", "-c", script)
        eventually(lambda: len(processes_naming("while :; do")) >= 2, what="it runs")
        run.send_signal(signal.SIGINT)
        time.sleep(1.5)
        check(run.poll() is None, "the first Ctrl-C ended it although its task goes on")
        run.send_signal(signal.SIGINT)
        run.wait(20)
        eventually(lambda: not processes_naming(str(home.path)), 15, what="nothing is left")


def a_killed_run_takes_its_executor_along_and_resumes():
    with Home() as home:
        marks = home.path / "marks"
        marks.mkdir()
        run = home.start("run", "--at-once", "1", "--", "sh", "-c",
                         f"sleep 0.7; echo x >> {marks}/{{item}}", ":::", *map(str, range(6)))
        eventually(lambda: len(list(marks.iterdir())) >= 2, 20, what="two items are done")
        run.send_signal(signal.SIGKILL)
        run.wait()
        eventually(lambda: not processes_naming(str(home.path)), 20, what="its executors end")
        done = home.run("run", "--resume", "j1")
        check(done.returncode == 0, f"resume: {done.stderr.decode()}")
        check(len(list(marks.iterdir())) == 6, "six items are done")
        first = (marks / "0").read_text()
        check(first == "x\n", "what was done before is not done again")


def lists_run_each_item():
    with Home() as home:
        names = ["a b", "c'd", 'e"f', "$HOME", "*", "日本", "-x", "g\\h"]
        done = home.run("run", "--", "printf", "[%s]\n", "{item}", ":::", *names)
        got = sorted(done.stdout.decode().splitlines())
        check(got == sorted(f"[{n}]" for n in names), f"{got} {done.stderr.decode()}")
        done = home.run("run", "--", "echo", "line", "{item}", stdin=b"1\n2\n3")
        check(sorted(done.stdout.split()) == sorted(b"line 1 line 2 line 3".split()), f"{done.stdout}")
        done = home.run("run", "--", "sh", "-c", "exit {item}", ":::", "0", "1", "0")
        check(done.returncode == 1, f"a failed item gives 1: {done.returncode}")
        done = home.run("run", "--array", "5-15:5", "--", "echo", "{index}")
        check(sorted(done.stdout.split(), key=int) == [b"5", b"10", b"15"], f"{done.stdout}")


def past_runs_can_be_read():
    with Home() as home:
        home.ok("run", "--", "echo", "kept")
        home.run("run", "--", "sh", "-c", "echo broken >&2; exit 4")
        check(home.ok("logs", "j1.1") == "kept\n", "logs of the first run")
        check("failed(4)" in home.ok("why", "j2.1"), "why of the second run")
        jobs = home.json("ps")["items"]
        check([j["id"] for j in jobs] == ["j2", "j1"], f"ps: {jobs}")
        check(home.json("info", "last")["id"] == "j2", "last")
        check(home.run("info", "j77").returncode == 2, "a job that is not there")


def two_runs_at_once_do_not_meet():
    with Home() as home:
        runs = [home.start("run", "--", "sh", "-c", f"sleep 0.2; echo {i}") for i in range(8)]
        outputs = sorted(run.communicate(timeout=60)[0] for run in runs)
        check(outputs == sorted(f"{i}\n".encode() for i in range(8)), f"{outputs}")
        check(len(home.json("ps")["items"]) == 8, "eight job numbers")


if __name__ == "__main__":
    main(returns_the_commands_own_code, passes_output_through_apart_and_byte_for_byte,
         shows_output_while_it_runs, ctrl_c_leaves_no_process, second_ctrl_c_kills,
         a_killed_run_takes_its_executor_along_and_resumes, lists_run_each_item, past_runs_can_be_read,
         two_runs_at_once_do_not_meet)
