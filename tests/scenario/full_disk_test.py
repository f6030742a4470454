#!/usr/bin/env python3
"""Scenario 20 here: a full disk refuses new submits with that word, running work goes on, nothing is
lost. And few descriptors."""

import os
import pathlib
import resource
import signal
import subprocess
import time

from scenario import WITNESS, Home, WitnessLog, check, eventually, main


class SmallDisk:
    """A tmpfs of its own as the state folder."""

    def __init__(self, home, megabytes):
        self.path = home.state
        self.path.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", self.path], check=True)

    def fill(self):
        with open(self.path / "filler", "wb", buffering=0) as file:
            block = b"x" * 65536
            while block:
                try:
                    file.write(block)
                except OSError:
                    block = block[:len(block) // 2]

    def free(self):
        (self.path / "filler").unlink()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)


def a_full_disk_refuses_submits_and_loses_nothing():
    with Home() as home, SmallDisk(home, 96) as disk:
        home.serve()
        witness = home.path / "witness"
        job = home.submit(f"name: work\ntasks:\n  - name: a\n    array: 1-60\n    cpus: 0.2\n"
                          f"    command: [{WITNESS}, {witness}, '0.5', '0']\n")
        eventually(lambda: home.job(job)["counts"].get("running", 0) > 0, 20, what="it runs")
        disk.fill()
        time.sleep(1.5)
        big = "\n".join(["name: more", "tasks:"] + [f"  - {{name: n{i}, command: 'echo {'y' * 2000}'}}" for i in range(3000)])
        refused = home.run("submit", "-", stdin=big.encode())
        check(refused.returncode != 0, "a submit was accepted on a full disk")
        words = refused.stderr.decode().lower()
        check("full" in words or "no space" in words or "room" in words, f"the word is missing: {words}")
        done = home.run("wait", job, timeout=120)
        check(done.returncode == 0, f"running work: {done.returncode} {done.stdout} {home.serve_log()}")
        disk.free()
        after = eventually(lambda: home.run("submit", "-", stdin=b"name: after\ntasks:\n  - {name: a, command: echo}\n")
                           .returncode == 0, 15, pause=0.5, what="submits are accepted again")
        check(after, "after")
        home.stop_server(signal.SIGKILL)
        home.serve()
        check(home.job(job)["counts"]["ended"]["ok"] == 60, "nothing is lost over a restart")
        wrong = WitnessLog(witness).exactly_once([f"{job}.{n}" for n in range(1, 61)])
        check(not wrong, f"{wrong}")


def a_read_only_state_folder_is_one_line_that_says_what_to_do():
    with Home() as home, SmallDisk(home, 16):
        subprocess.run(["mount", "-o", "remount,ro", home.state], check=True)
        for words in (["run", "--", "true"], ["serve"]):
            done = home.run(*words)
            lines = done.stderr.decode().strip().splitlines()
            check(done.returncode != 0 and len(lines) == 1, f"{words}: {done.returncode} {lines}")
            check("state-dir" in lines[0] or "MUSTER_STATE_DIR" in lines[0], f"what to do: {lines[0]}")


def a_full_disk_before_the_start_is_one_line():
    with Home() as home, SmallDisk(home, 4) as disk:
        disk.fill()
        done = home.run("run", "--", "true")
        lines = done.stderr.decode().strip().splitlines()
        check(done.returncode != 0 and len(lines) == 1, f"{done.returncode} {lines}")
        check("space" in lines[0].lower() or "full" in lines[0].lower(), f"{lines[0]}")


def few_descriptors_and_fifty_watchers():
    with Home() as home:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            home.serve()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        job = home.submit("name: many\ntasks:\n  - {name: a, array: 1-5000, cpus: 0.05, command: ['true']}\n")
        watchers = [home.start("wait", job) for _ in range(50)]
        done = home.run("wait", job, timeout=240)
        check(done.returncode == 0, f"{done.returncode} {done.stderr} {home.serve_log()}")
        codes = [w.wait(30) for w in watchers]
        check(home.server.poll() is None, "the controller crashed")
        check(codes.count(0) >= 45, f"watchers ended with {sorted(set(codes))}")
        check(home.job(job)["counts"]["ended"]["ok"] == 5000, "all ran")


if __name__ == "__main__":
    main(a_full_disk_refuses_submits_and_loses_nothing,
         a_read_only_state_folder_is_one_line_that_says_what_to_do,
         a_full_disk_before_the_start_is_one_line, few_descriptors_and_fifty_watchers)
