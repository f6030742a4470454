#!/usr/bin/env python3
"""Scenario 3 here: the controller killed ten times at random during a graph of 1,000 tasks."""

import os
import random
import signal
import time

from scenario import LONG, WITNESS, Home, WitnessLog, check, eventually, main, processes_naming


def graph(witness_file, layers, width, rng):
    lines = ["name: graph", "tasks:"]
    for layer in range(layers):
        for i in range(width):
            seconds = rng.uniform(0.3, 2.0)
            lines.append(f"  - name: t{layer}_{i}")
            if layer:
                needs = rng.sample(range(width), 2)
                lines.append(f"    needs: [t{layer - 1}_{needs[0]}, t{layer - 1}_{needs[1]}]")
            lines.append(f"    cpus: 0.02\n    retries: 0")
            lines.append(f"    command: [{WITNESS}, {witness_file}, '{seconds:.3f}', '0']")
    return "\n".join(lines) + "\n"


def killed_ten_times_every_task_runs_exactly_once():
    seed = int(os.environ.get("MUSTER_SEED", random.SystemRandom().randrange(1 << 30)))
    rng = random.Random(seed)
    print(f"seed {seed}")
    layers, width = (20, 50) if LONG else (14, 50)
    with Home() as home:
        witness_file = home.path / "witness"
        (home.path / "state").mkdir()
        home.serve()
        job = home.submit(graph(witness_file, layers, width, rng))
        adopted, kills, resumed_worst = 0, 0, 0.0
        for kill in range(10):
            time.sleep(rng.uniform(0.2, 1.5))
            view = home.job(job)
            if view.get("ended"):
                break
            eventually(lambda: home.job(job)["counts"].get("running", 0) > 0, 20, what="something runs")
            home.stop_server(signal.SIGKILL)
            kills += 1
            running = len([p for p in processes_naming(str(witness_file))])
            time.sleep(rng.uniform(0.0, 0.5))
            begin = time.monotonic()
            home.serve()
            # Dispatch goes on: something new starts, or all has ended.
            before = len(WitnessLog(witness_file).starts)
            eventually(lambda: len(WitnessLog(witness_file).starts) > before
                       or home.job(job).get("ended"), 20, what="dispatch goes on")
            resumed_worst = max(resumed_worst, time.monotonic() - begin)
            adopted += running
            check(running > 0, f"nothing ran at kill {kill}")
        done = home.run("wait", job, timeout=300)
        check(done.returncode == 0, f"wait: {done.returncode} {done.stdout} {home.serve_log()}")
        log = WitnessLog(witness_file)
        tasks = [f"{job}.{n}" for n in range(1, layers * width + 1)]
        wrong = log.exactly_once(tasks)
        attempts = home.job(job)["attempts"]
        print(f"{layers * width} tasks, {kills} kills, {adopted} attempts ran at a kill and were adopted, "
              f"dispatch resumed within {resumed_worst:.1f} s, {attempts} attempts")
        check(not wrong, f"not exactly once: {wrong}")
        check(kills == 10, f"only {kills} kills")
        check(adopted > 0, "no attempt was adopted")
        check(attempts == layers * width, f"{attempts} attempts for {layers * width} tasks")
        check(resumed_worst < 5 + 3, f"dispatch resumed after {resumed_worst:.1f} s")


if __name__ == "__main__":
    main(killed_ten_times_every_task_runs_exactly_once)
