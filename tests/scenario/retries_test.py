#!/usr/bin/env python3
"""Scenario 12 here: retries are exact, delays grow with jitter, every attempt is kept."""

from scenario import Home, check, main


def attempts_of(home, job, number):
    return home.json("info", f"{job}.{number}")["attempts"]


def seconds(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def three_retries_are_four_attempts():
    with Home() as home:
        home.serve()
        job = home.submit("""
name: failing
tasks:
  - {name: three, array: 1-10, cpus: 0.1, retries: 3, command: "echo try $MUSTER_ATTEMPT; exit {index}"}
  - {name: none, array: 1-10, cpus: 0.1, retries: 0, command: "exit 7"}
  - {name: signal, cpus: 0.1, retries: 1, command: "kill -9 $$"}
  - {name: slow, cpus: 0.1, retries: 1, time: 300ms, grace: 0s, command: "sleep 60"}
""")
        done = home.run("wait", job, timeout=90)
        check(done.returncode == 1, f"wait returned {done.returncode}")
        firsts = []
        for number in range(1, 11):
            attempts = attempts_of(home, job, number)
            check(len(attempts) == 4, f"task {number} had {len(attempts)} attempts")
            for n, attempt in enumerate(attempts, 1):
                check(attempt["reason"]["kind"] == "failed" and attempt["reason"]["number"] == number,
                      f"reason of {number}#{n}: {attempt['reason']}")
                log = home.ok("logs", f"{job}.{number}#{n}")
                check(log == f"try {n}\n", f"log of {number}#{n}: {log!r}")
            gaps = [seconds(b["started"]) - seconds(a["ended"]) for a, b in zip(attempts, attempts[1:])]
            check(gaps[0] >= 0.7 and gaps[1] > gaps[0] and gaps[2] > gaps[1], f"delays of {number}: {gaps}")
            firsts.append(round(gaps[0], 3))
        check(len(set(firsts)) > 3, f"first delays have no jitter: {firsts}")
        for number in range(11, 21):
            check(len(attempts_of(home, job, number)) == 1, f"task {number} was tried again")
        check([a["reason"]["kind"] for a in attempts_of(home, job, 21)] == ["signal", "signal"], "signal")
        check([a["reason"]["kind"] for a in attempts_of(home, job, 22)] == ["timeout", "timeout"], "timeout")
        print(f"first delays {min(firsts)} to {max(firsts)} s")


def a_missing_program_is_not_tried_again():
    with Home() as home:
        home.serve()
        job = home.submit("name: m\ntasks:\n  - {name: a, retries: 3, command: [/no/such/thing]}\n")
        check(home.run("wait", job).returncode == 1, "wait")
        attempts = attempts_of(home, job, 1)
        check(len(attempts) == 1 and attempts[0]["reason"]["kind"] == "start-failed", f"{attempts}")
        check("/no/such/thing" in home.ok("logs", f"{job}.1"), "the log says why")


if __name__ == "__main__":
    main(three_retries_are_four_attempts, a_missing_program_is_not_tried_again)
