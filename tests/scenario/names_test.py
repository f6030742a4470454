#!/usr/bin/env python3
"""Scenario 13 here: odd names run, are shown as they are, and do not collide."""

import json

from scenario import Home, check, main

NAMES = ["x" * 300, "a/b/../c", "With Capitals And  spaces", "emoji 🚀🎉", "n" * 200 + "A" + "t" * 99,
         "n" * 200 + "B" + "t" * 99, "-dash", ".", "..", "quote'\"$(id)`id`", "tab\tinside", "中文 名字", "500", "a.7"]


def odd_names_run_and_are_shown():
    with Home() as home:
        home.serve()
        tasks = [{"name": n, "command": f"printf %s '{i}' > {{out}}"} for i, n in enumerate(NAMES)]
        tasks.append({"name": "arr " + "y" * 250, "array": "1-3", "command": "echo {index} > {out}"})
        job = home.submit(json.dumps({"name": "job " + "z" * 300 + " 🚀", "tasks": tasks}, ensure_ascii=False))
        done = home.run("wait", job, timeout=60)
        check(done.returncode == 0, f"wait: {done.returncode} {done.stdout.decode()} {home.ok('why', job)}")
        shown = [t["name"] for t in home.tasks(job)]
        check(shown[:len(NAMES)] == NAMES, f"{shown}")
        check(home.job(job)["name"] == "job " + "z" * 300 + " 🚀", "the job's name")
        outs = sorted(p.read_text() for p in (home.path / "out").iterdir() if p.is_file())
        check(outs == sorted(str(i) for i in range(len(NAMES))), f"published {len(outs)} of {len(NAMES)}: {outs}")
        arrays = [p for p in (home.path / "out").iterdir() if p.is_dir()]
        check(len(arrays) == 1 and sorted(p.name for p in arrays[0].iterdir()) == ["1", "2", "3"], f"{arrays}")
        check(not list((home.path / "out").rglob(".*")), "parts are left")
        text = home.ok("ps", job)
        check("🚀🎉" in text and "tab\\x09inside" in text, "the table")
        check("ended" in home.ok("info", f"{job}.{NAMES[3]}"), "addressed by name")


def file_names_may_be_any_bytes():
    with Home() as home:
        folder = home.path / "in"
        folder.mkdir()
        for name in [b"plain", b"with space", b"\xff\xfe raw", b"new\nline", b"'q'"]:
            with open(bytes(folder) + b"/" + name, "wb") as file:
                file.write(name)
        done = home.run("run", "--", "cat", "{item}", ":::", *[],
                        cwd=home.path)
        check(done.returncode == 2, f"an empty list: {done.returncode}")
        (home.path / "job.yaml").write_text("name: f\ntasks:\n  - name: c\n    each: in/*\n    command: cat {item}\n")
        done = home.run("run", "job.yaml")
        check(done.returncode == 0, f"{done.stderr}")
        for name in [b"plain", b"with space", b"\xff\xfe raw", b"new\nline", b"'q'"]:
            check(name in done.stdout, f"{name} is not in {done.stdout}")


if __name__ == "__main__":
    main(odd_names_run_and_are_shown, file_names_may_be_any_bytes)
