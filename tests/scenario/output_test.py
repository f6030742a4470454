#!/usr/bin/env python3
"""Output of 100,000 tasks lies in few files and is read back exactly."""

import os
import random
import re
import subprocess

from scenario import LONG, MUSTER, Home, check, eventually, main

N = 100_000 if LONG else 10_000


def output_of_many_tasks_lies_in_few_files():
    with Home() as home:
        home.serve()
        # An executor must be there to be traced.
        home.run("wait", home.submit("name: w\ntasks:\n  - {name: a, command: 'true'}\n"))
        executor = [x for x in home.json("ps", "-x")["items"] if x["state"] != "gone"][0]
        trace = home.path / "trace"
        tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=openat,open,creat", "-o", trace,
                                   "-p", str(executor["pid"])], stderr=subprocess.DEVNULL)
        eventually(lambda: "TracerPid:\t0" not in open(f"/proc/{executor['pid']}/status").read(), 10,
                   what="strace is attached")
        # 100 bytes each: the index, padded.
        job = home.submit(f"name: o\ntasks:\n  - {{name: a, array: 1-{N}, cpus: 0.5, "
                          "command: [printf, '%099d\\n', '{index}']}\n")
        done = home.run("wait", job, timeout=1200)
        check(done.returncode == 0, f"{done.returncode} {done.stdout}")
        tracer.terminate()
        tracer.wait(20)
        opened = [line for line in trace.read_text(errors="replace").splitlines()
                  if "O_CREAT" in line and "/output" in line]
        files = list((home.state / "controller").rglob("*.out"))
        rng = random.Random(1)
        sample = rng.sample(range(1, N + 1), min(1000, N))
        wrong = []
        for number in sample:
            text = home.ok("logs", f"{job}.{number}")
            if text != f"{number:099d}\n":
                wrong.append((number, text[:120]))
        print(f"{N} tasks of 100 bytes: {len(opened)} files opened for output, {len(files)} data files, "
              f"{len(sample)} read back")
        check(not wrong, f"wrong: {wrong[:3]}")
        check(len(opened) <= 8, f"{len(opened)} files were opened for output: {opened[:10]}")


if __name__ == "__main__":
    main(output_of_many_tasks_lies_in_few_files)
