#!/usr/bin/env python3
"""run_tests counts right: run on a folder of small test programs made for the purpose."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import stat
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def load(name):
    """The tool as a module; tools have no suffix in their names."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


run_tests = load("run_tests")

# Behaves as a GoogleTest program with the tests A.Good and A.Bad (if told so) would.
FAKE_GTEST = """#!/usr/bin/env python3
# --gtest_list_tests
import json, os, sys
if "--gtest_list_tests" in sys.argv:
    print("A.\\n  Good\\n  Bad")
    sys.exit(0)
mode = sys.argv[1]
print("[==========] Running 2 tests")
if mode == "crash":
    os.abort()
failures = [{"failure": "it is bad"}] if mode == "bad" else []
tests = [{"name": "Good", "status": "RUN", "result": "COMPLETED", "classname": "A"},
         {"name": "Bad", "status": "RUN", "result": "COMPLETED", "classname": "A",
          **({"failures": failures} if failures else {})}]
if mode == "skip":
    tests[1]["result"] = "SKIPPED"
    print("a.cc:7: Skipped\\nno room here\\n[  SKIPPED ] A.Bad (0 ms)")
if os.environ.get("GTEST_FILTER"):
    tests = [t for t in tests if "A." + t["name"] in os.environ["GTEST_FILTER"].split(":")]
folder = os.environ["GTEST_OUTPUT"].removeprefix("json:")
with open(os.path.join(folder, os.path.basename(sys.argv[0]) + ".json"), "w") as file:
    json.dump({"testsuites": [{"name": "A", "testsuite": tests}]}, file)
failed = any("failures" in t for t in tests)
if failed:
    print("[  FAILED  ] 1 test, listed below:")
sys.exit(1 if failed or mode == "leak" else 0)
"""


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="run tests ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.lines = []

    def add(self, name, command, label="unit", more=""):
        self.lines.append(f'add_test([=[{name}]=] {command})')
        self.lines.append(f'set_tests_properties([=[{name}]=] PROPERTIES LABELS "{label}" {more})')

    def add_gtest(self, name, mode):
        path = self.folder / name
        path.write_text(FAKE_GTEST)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.add(name, f'[=[{path}]=] "{mode}"')

    def run_all(self, *flags):
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(self.lines) + "\n")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = run_tests.main([str(self.folder), *flags])
        self.output = output.getvalue()
        return code, self.output.splitlines()[-1]

    def test_counts_each_gtest_and_each_other_test_once(self):
        self.add_gtest("a_test", "good")
        self.add("plain", "/bin/true", "scenario")
        self.assertEqual(self.run_all(), (0, "3 passed, 0 failed"))

    def test_names_the_failed_test_and_not_its_program(self):
        self.add_gtest("a_test", "bad")
        self.assertEqual(self.run_all(), (1, "1 passed, 1 failed"))
        self.assertIn("FAILED A.Bad\n    it is bad", self.output)

    def test_a_crash_is_a_failure(self):
        self.add_gtest("a_test", "crash")
        self.add("plain", "/bin/true")
        self.assertEqual(self.run_all(), (1, "1 passed, 1 failed"))

    def test_a_leak_found_after_all_tests_passed_is_a_failure(self):
        self.add_gtest("a_test", "leak")
        self.assertEqual(self.run_all(), (1, "2 passed, 1 failed"))

    def test_a_program_that_was_never_built_is_a_failure(self):
        self.add("gone_test", f"[=[{self.folder}/gone]=]")
        self.assertEqual(self.run_all(), (1, "0 passed, 1 failed"))

    def test_a_time_out_is_a_failure(self):
        self.add("slow", '/bin/sleep "5"', more='TIMEOUT "1"')
        self.assertEqual(self.run_all(), (1, "0 passed, 1 failed"))

    def test_skips_are_listed(self):
        self.add_gtest("a_test", "skip")
        self.add("plain", '/bin/sh "-c" "exit 77"', more='SKIP_RETURN_CODE "77"')
        self.assertEqual(self.run_all(), (0, "1 passed, 0 failed"))
        self.assertIn("skipped A.Bad: no room here", self.output)
        self.assertIn("skipped plain", self.output)
        self.assertIn("2 skipped", self.output)

    def test_nothing_run_is_not_success(self):
        self.add("plain", "/bin/true", "scenario")
        self.assertEqual(self.run_all("--only", "nothing"), (1, "0 passed, 0 failed"))
        self.assertEqual(self.run_all("--label", "unit"), (1, "0 passed, 0 failed"))

    def test_a_test_without_a_known_label_is_named(self):
        self.add("plain", "/bin/true")
        self.add("odd", "/bin/false", "slow")
        self.assertEqual(self.run_all(), (0, "1 passed, 0 failed"))
        self.assertIn("not run odd: label slow", self.output)

    def test_only_picks_programs_by_name_else_single_tests(self):
        self.add_gtest("a_test", "bad")
        self.add("plain", "/bin/true")
        self.assertEqual(self.run_all("--only", "^plain"), (0, "1 passed, 0 failed"))
        self.assertEqual(self.run_all("--only", "A[.]Good"), (0, "1 passed, 0 failed"))

    def test_tells_the_tests_their_share(self):
        self.add("share", '/bin/sh "-c" "test \\"\\$MUSTER_TEST_SHARE\\" = long"')
        self.assertEqual(self.run_all("--share", "long"), (0, "1 passed, 0 failed"))
        self.assertEqual(self.run_all()[0], 1)


if __name__ == "__main__":
    os.environ.pop("GTEST_OUTPUT", None)
    unittest.main()
