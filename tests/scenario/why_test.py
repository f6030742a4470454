#!/usr/bin/env python3
"""Scenario 1 here: `why` names exactly the cause, with its figures, each provoked twice with others."""

import signal
import time

from scenario import Home, check, eventually, main


def why(home, task):
    return home.json("why", task)


def expect(home, task, cause, *figures, limit=10):
    view = {}

    def matches():
        view.update(why(home, task))
        return view["cause"] == cause and all(str(f) in view["sentence"] for f in figures)
    eventually(matches, limit, what=f"why {task} is {cause} with {figures}: {view}")
    return view["sentence"]


def each_cause_with_its_figures():
    with Home() as home:
        home.serve()
        for n, cap in ((7, 2), (9, 3)):
            job = home.submit(f"""
name: w
tasks:
  - {{name: first, array: 1-{n}%{cap}, cpus: 0.1, command: sleep 30}}
  - {{name: second, needs: [first], command: 'true'}}
""")
            print(expect(home, f"{job}.1", "running"))
            print(expect(home, f"{job}.{n}", "array-cap", cap))
            print(expect(home, f"{job}.second", "dependency", "first", n))
            home.ok("cancel", "--wait", job)
            print(expect(home, f"{job}.second", "ended", "cancelled"))
        for cpus in ("1.5", "1.9"):
            job = home.submit(f"name: room\ntasks:\n  - {{name: a, array: 1-3, cpus: {cpus}, command: sleep 30}}\n")
            expect(home, f"{job}.1", "running")
            print(expect(home, f"{job}.3", "no-room", cpus.replace("1.", "1") + "00m"))
            home.ok("cancel", "--wait", job)
        for retries in (4, 6):
            job = home.submit(f"name: b\ntasks:\n  - {{name: a, cpus: 0.1, retries: {retries}, command: exit 9}}\n")
            print(expect(home, f"{job}.1", "back-off", retries, "failed(9)", limit=15))
            home.ok("cancel", "--wait", job)
        for grace in ("3s", "4s"):
            job = home.submit(f"name: s\ntasks:\n  - {{name: a, cpus: 0.1, grace: {grace}, command: \"trap '' TERM; while :; do sleep 0.1; done\"}}\n")
            expect(home, f"{job}.1", "running")
            time.sleep(0.3)
            home.ok("cancel", job)
            print(expect(home, f"{job}.1", "stopping", grace))
            home.run("wait", job)
        for code in (3, 4):
            job = home.submit(f"name: e\ntasks:\n  - {{name: a, command: exit {code}}}\n")
            home.run("wait", job)
            print(expect(home, f"{job}.1", "ended", f"failed({code})"))


def a_silent_executor_is_named():
    with Home() as home:
        home.serve()
        for seconds in (60, 70):
            job = home.submit(f"name: c\ntasks:\n  - {{name: a, cpus: 0.1, command: sleep {seconds}}}\n")
            expect(home, f"{job}.1", "running")
            executor = [x for x in home.json("ps", "-x")["items"] if x["state"] != "gone"][0]
            import os
            os.kill(executor["pid"], signal.SIGSTOP)
            try:
                print(expect(home, f"{job}.1", "contact-lost", executor["id"], limit=25))
            finally:
                os.kill(executor["pid"], signal.SIGCONT)
            expect(home, f"{job}.1", "running", limit=20)
            home.ok("cancel", "--wait", job)


def no_executor_is_named():
    for limit in (1, 2):
        with Home() as home:
            (home.path / "config" / "muster").mkdir(parents=True)
            home.serve()
            launches = home.state / "controller" / "launches"
            # Nothing can be launched: the folder of launches is a file.
            if launches.exists():
                import shutil
                shutil.rmtree(launches)
            launches.write_text("in the way")
            job = home.submit("name: n\ntasks:\n  - {name: a, command: 'true'}\n")
            print(expect(home, f"{job}.1", "no-executor", limit, limit=20))


if __name__ == "__main__":
    main(each_cause_with_its_figures, a_silent_executor_is_named, no_executor_is_named)
