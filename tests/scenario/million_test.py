#!/usr/bin/env python3
"""Scenario 14 here: an array of 1,000,000 tasks."""

import signal
import time

from scenario import Home, check, eventually, main


def rss_mb(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def a_million_tasks_are_submitted_listed_restarted_and_cancelled():
    with Home() as home:
        server = home.serve()
        begin = time.monotonic()
        job = home.submit("name: million\ntasks:\n  - {name: a, array: 1-1000000, cpus: 0.5, command: ['true']}\n")
        submit = time.monotonic() - begin
        eventually(lambda: home.job(job)["counts"]["ended"]["ok"] > 300, 60, what="it runs")
        begin = time.monotonic()
        page = home.json("ps", job, "--limit", "50", "--after", "777777")
        listing = time.monotonic() - begin
        check(len(page["items"]) == 50 and page["items"][0]["id"].endswith(".777778"), "the page")
        check(page["total"] == 1000000, f"total {page['total']}")
        rss = rss_mb(server.pid)
        home.stop_server(signal.SIGKILL)
        begin = time.monotonic()
        server = home.serve()
        restart = time.monotonic() - begin
        before = home.job(job)["counts"]["ended"]["ok"]
        eventually(lambda: home.job(job)["counts"]["ended"]["ok"] > before, 20, what="it goes on")
        begin = time.monotonic()
        home.ok("cancel", job)
        done = home.run("wait", job, timeout=60)
        cancel = time.monotonic() - begin
        check(done.returncode == 5, f"wait returned {done.returncode}")
        counts = home.job(job)["counts"]
        check(sum(counts["ended"].values()) == 1000000, f"{counts}")
        rss = max(rss, rss_mb(server.pid))
        print(f"submit {submit:.2f} s, page {listing:.2f} s, restart {restart:.2f} s, cancel {cancel:.2f} s, "
              f"controller {rss:.0f} MB")
        check(submit < 10 and restart < 10 and cancel < 10 and listing < 2 and rss < 1000, "too slow or too big")


if __name__ == "__main__":
    main(a_million_tasks_are_submitted_listed_restarted_and_cancelled)
