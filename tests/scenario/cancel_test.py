#!/usr/bin/env python3
"""Scenario 2 here: cancel reaches everything."""

import time

from scenario import Home, check, eventually, main, processes_naming


def cancel_ends_200_running_tasks_and_their_children():
    with Home() as home:
        home.serve()
        marker = f"{home.path}/marker"
        # Every second one starts a child in the background that ignores being asked.
        job = home.submit(f"""
name: many
tasks:
  - name: plain
    array: 1-100
    cpus: 0.01
    grace: 2s
    command: "sleep 600; : {marker}"
  - name: children
    array: 1-100
    cpus: 0.01
    grace: 2s
    command: "(trap '' TERM; setsid sleep 600 < /dev/null > /dev/null 2>&1 & sleep 600) & sleep 600; : {marker}"
  - name: later
    needs: [plain]
    array: 1-1000
    command: "touch {home.path}/started-{{index}}"
""")
        eventually(lambda: home.job(job)["counts"].get("running", 0) >= 180, 60,
                   what=f"they run: {home.job(job)['counts']}")
        begin = time.monotonic()
        home.ok("cancel", job)
        state = home.job(job)
        check(not state.get("ended") or not processes_naming(marker), "ended before all was gone")
        done = home.run("wait", job, timeout=60)
        took = time.monotonic() - begin
        check(done.returncode == 5, f"wait returned {done.returncode}")
        check(took < 2 + 10, f"cancel took {took:.1f} s")
        left = processes_naming(marker)
        check(not left, f"{len(left)} processes are left at the end")
        counts = home.job(job)["counts"]
        check(counts["ended"]["cancelled"] == 1200, f"{counts}")
        check(not list(home.path.glob("started-*")), "queued tasks started")
        home.ok("cancel", job)
        print(f"200 running and 1,000 queued tasks cancelled in {took:.2f} s")


def cancel_of_some_tasks_leaves_the_others():
    with Home() as home:
        home.serve()
        job = home.submit("name: some\ntasks:\n  - name: a\n    array: 1-6\n    cpus: 0.1\n    command: sleep 3\n")
        eventually(lambda: home.job(job)["counts"].get("running", 0) == 6, 30, what="they run")
        home.ok("cancel", f"{job}.2-3", f"{job}.a.5")
        home.run("wait", job, timeout=60)
        ended = {t["id"]: t["reason"]["kind"] for t in home.tasks(job)}
        expect = {f"{job}.{n}": "cancelled" if n in (2, 3, 5) else "ok" for n in range(1, 7)}
        check(ended == expect, f"{ended}")


if __name__ == "__main__":
    main(cancel_ends_200_running_tasks_and_their_children, cancel_of_some_tasks_leaves_the_others)
