#!/usr/bin/env python3
"""Bad input gets a clear error before anything starts, all errors at once, with file, line, suggestion."""

import os
import subprocess

from scenario import MUSTER, Home, check, main


def refused(home, text, *expected, words=("run",), name="job.yaml"):
    path = home.path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = home.run(*words, name, timeout=60)
    said = done.stderr.decode(errors="replace")
    check(done.returncode == 2, f"exit code {done.returncode} for {text[:100]!r}: {said}")
    for part in expected:
        check(part in said, f"'{part}' is missing in: {said}")
    return said


def every_problem_is_named_with_its_line():
    with Home() as home:
        said = refused(home, """name: bad
tasks:
  - name: a
    comand: echo hi
  - name: b
    command: echo
    memory: 12Xb
  - name: c
    command: echo
    needs: [d]
  - name: e
    command: cat {item}
    each: /no/such/*.txt
  - name: f
    command: echo
    array: 1-100000001
  - name: g
    command: echo
    lines: not-there.txt
  - name: h
    command: echo
    inputs: [missing-file]
""", "job.yaml:4:", "comand", "did you mean 'command'", "job.yaml:7:", "12Xb", "job.yaml:10:", "'d'",
                       "job.yaml:13:", "/no/such/*.txt", "job.yaml:16:", "100000001", "job.yaml:19:",
                       "not-there.txt", "job.yaml:22:", "missing-file")
        print(said)
        check(not (home.state / "runs").exists(), "a run was made for a job that was refused")


def cycles_sizes_and_groups():
    with Home() as home:
        refused(home, "name: c\ntasks:\n  - {name: a, needs: [b], command: x}\n  - {name: b, needs: [a], command: x}\n",
                "circle", "a", "b")
        refused(home, "name: g\ntasks:\n  - {name: a, group: x, command: x}\n", "group", "not")
        refused(home, "name: m\ntasks:\n  - {name: a, memory: 900Ti, command: x}\n", "900Ti", "memory")
        refused(home, "name: m\ntasks:\n  - {name: a, cpus: 5000, command: x}\n", "5000", "cpus")
        refused(home, "name: k\ntasks:\n  - {name: a, image: x, command: x}\n", "image")


def hostile_files_are_refused_without_a_crash():
    with Home() as home:
        refused(home, "name: x\n" + "#" * (100 << 20), "16", name="big.yaml")
        refused(home, "tasks: " + "[" * 10_000 + "]" * 10_000, "deep")
        refused(home, b"name: \xff\xfe\ntasks: []\n", "UTF-8")
        refused(home, "", "tasks")
        refused(home, "- a\n- b\n", "job.yaml")
        refused(home, "name: x\nname: y\ntasks:\n  - {name: a, command: x}\n", "name")
        refused(home, "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)), "job.yaml")
        done = home.run("run", "not-there.yaml")
        check(done.returncode == 2 and b"not-there.yaml" in done.stderr, f"{done}")


def wrong_words_are_usage_errors():
    with Home() as home:
        for words in ([], ["rum"], ["run"], ["run", "--cpu", "2", "--", "x"], ["info"], ["info", "j"], ["info", "q7"],
                      ["logs", "j1.2#x"], ["wait", "j1", "--timeout", "5"], ["run", "--memory", "3Q", "--", "x"],
                      ["run", "--", "echo", ":::"], ["run", "a.yaml", "--", "x"], ["completion", "tcsh"]):
            done = home.run(*words)
            check(done.returncode == 2, f"{words} returned {done.returncode}: {done.stderr.decode()}")
            check(done.stderr, f"{words} said nothing")


def no_controller_is_one_line_that_says_what_to_do():
    with Home() as home:
        for words in (["submit", "--", "x"], ["--controller", "/no/such/socket", "ps"]):
            done = home.run(*words)
            lines = done.stderr.decode().strip().splitlines()
            check(done.returncode == 3 and len(lines) == 1 and "muster serve" in lines[0], f"{words}: {done}")


def configuration_errors_name_file_and_line():
    with Home() as home:
        (home.path / "muster.yaml").write_text("default: here\nclusters:\n  here: {kind: lokal}\n  other: {kind: local, cpu: 2}\n")
        done = home.run("run", "--", "true")
        said = done.stderr.decode()
        check(done.returncode == 2 and "muster.yaml:3" in said and "lokal" in said and "muster.yaml:4" in said
              and "cpus" in said, said)


if __name__ == "__main__":
    main(every_problem_is_named_with_its_line, cycles_sizes_and_groups,
         hostile_files_are_refused_without_a_crash, wrong_words_are_usage_errors,
         no_controller_is_one_line_that_says_what_to_do, configuration_errors_name_file_and_line)
