#!/usr/bin/env python3
"""check_house turns red: each test plants one fault in a small, clean checkout."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True


def load(name):
    """The tool as a module; tools have no suffix in their names."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


check_house = load("check_house")
from house import headers  # noqa: E402  (check_house set the path)

CLEAN = {
    "src/base/CMakeLists.txt": 'muster_room(base\n  SENTENCE "Words.")\n',
    "src/base/result.h": "#pragma once\n",
    "src/base/log.cc": "#include <spdlog/spdlog.h>\n",
    "src/wire/CMakeLists.txt": 'muster_room(wire\n  SENTENCE "Bytes."\n  LIBRARIES json)\n',
    "src/wire/json.h": "#pragma once\n#include <nlohmann/json.hpp>\n",
    "src/wire/codec.cc": '#include "base/result.h"\n#include "wire/json.h"\n',
    "src/wire/codec.h": "#pragma once\nnamespace muster {\nclass JobCodec {};\n}\n",
    "src/core/CMakeLists.txt": 'muster_room(core\n  SENTENCE "Decides."\n  TEST_USES wire)\n',
    "src/core/step.cc": '#include "base/result.h"\n',
    "src/core/step_test.cc": '#include "wire/json.h"\n#include "support/temp_dir.h"\n',
    "test/support/temp_dir.h": "#pragma once\n",
    "include/muster/muster.h": "#pragma once\n",
    "docs/adr/README.md": "\n".join(check_house.markers("decisions")) + "\n",
    "docs/adr/0001-a-first-one.md": "# 1. A first one\n",
    "changes/a-thing.md": "added: A thing that\n  goes on.\n",
    "README.md": "# muster\n\n[How](ARCHITECTURE.md#two-words), `[no](link)`\n",
    "ARCHITECTURE.md": "# A\n\n## Two words\n\n" + "\n".join(check_house.markers("rooms")) + "\n",
}


class CheckHouse(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="house ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for path, content in CLEAN.items():
            self.plant(path, content)
        self.run_house("--write")

    def plant(self, path, content):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(content)

    def run_house(self, *flags):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = check_house.main(["--root", str(self.folder), *flags])
        return code, output.getvalue()

    def assert_red(self, message):
        code, output = self.run_house()
        self.assertEqual(code, 1, output)
        self.assertIn(message, output)
        # One fault turns one check red, and no other.
        self.assertRegex(output, r"\n\d+ passed, 1 failed\n$")

    def test_a_clean_house_is_green(self):
        code, output = self.run_house()
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"^\d+ passed, 0 failed\n$")

    # Arrows

    def test_a_forbidden_include(self):
        self.plant("src/core/step.cc", '#include "wire/codec.h"\n')
        self.assert_red("src/core/step.cc:1: room core includes src/wire/codec.h")

    def test_a_forbidden_include_written_relatively(self):
        self.plant("src/core/step.cc", '#include "../wire/codec.h"\n')
        self.assert_red("src/core/step.cc:1: room core includes src/wire/codec.h")

    def test_a_forbidden_include_of_a_generated_header(self):
        self.plant("src/core/step.cc", '#include "wire/executor.pb.h"\n')
        self.assert_red("src/core/step.cc:1: room core includes src/wire/executor.pb.h")

    def test_base_may_not_see_the_nouns(self):
        self.plant("src/model/CMakeLists.txt", 'muster_room(model\n  SENTENCE "Nouns.")\n')
        self.plant("src/model/job.h", "#pragma once\n")
        self.run_house("--write")
        self.plant("src/base/log.cc", '#include "model/job.h"\n')
        self.assert_red("room base includes src/model/job.h")

    def test_a_product_that_includes_test_code(self):
        self.plant("src/core/step.cc", '#include "support/temp_dir.h"\n')
        self.assert_red("test code")

    def test_a_fixture_beside_the_code_is_test_code(self):
        self.plant("src/core/test_clock.h", '#pragma once\n#include "support/temp_dir.h"\n')
        self.plant("src/core/step_test.cc", '#include "core/test_clock.h"\n')
        self.assertEqual(self.run_house()[0], 0)
        self.plant("src/core/step.cc", '#include "core/test_clock.h"\n')
        self.assert_red("test code (src/core/test_clock.h) in a product")

    def test_a_public_header_that_needs_ours(self):
        self.plant("include/muster/muster.h", '#include "base/result.h"\n')
        self.assert_red("users do not have")

    def test_an_arrow_added_only_in_cmake(self):
        self.plant("src/core/CMakeLists.txt",
                   'muster_room(core\n  SENTENCE "Decides."\n  USES wire\n  TEST_USES wire)\n')
        self.run_house("--write")
        self.assert_red("arrow core → wire is not drawn")

    def test_a_backend_may_not_know_another_but_the_registry_knows_all(self):
        for name, uses in (("local", "backend"), ("registry", "backend backends/local")):
            self.plant(f"src/backends/{name}/CMakeLists.txt",
                       f'muster_room(backends/{name}\n  SENTENCE "X."\n  USES {uses})\n')
        self.plant("src/backends/local/local.h", "#pragma once\n")
        self.plant("src/backends/registry/registry.cc", '#include "backends/local/local.h"\n')
        self.run_house("--write")
        self.assertEqual(self.run_house()[0], 0)
        self.plant("src/backends/slurm/CMakeLists.txt",
                   'muster_room(backends/slurm\n  SENTENCE "X."\n  USES backends/local)\n')
        self.run_house("--write")
        self.assert_red("arrow backends/slurm → backends/local is not drawn")

    def test_a_room_nobody_planned(self):
        self.plant("src/extra/CMakeLists.txt", 'muster_room(extra\n  SENTENCE "More.")\n')
        self.run_house("--write")
        self.assert_red("room extra is not in the house")

    def test_a_missing_sentence(self):
        self.plant("src/core/CMakeLists.txt", "muster_room(core\n  TEST_USES wire)\n")
        self.run_house("--write")
        self.assert_red("has no SENTENCE")

    def test_a_folder_that_is_no_room(self):
        self.plant("src/attic/old.cc", "int x;\n")
        self.assert_red("lies in no room")

    def test_an_include_of_nothing(self):
        self.plant("src/core/step.cc", '#include "core/gone.h"\n')
        self.assert_red('"core/gone.h" is no file of ours')

    # Heavy headers

    def test_json_outside_its_door(self):
        self.plant("src/wire/codec.cc", "#include <nlohmann/json.hpp>\n")
        self.assert_red("<nlohmann/json.hpp>: only src/wire/json.h")

    def test_boost_outside_net(self):
        self.plant("src/core/step.cc", "#include <boost/asio.hpp>\n")
        self.assert_red("<boost/asio.hpp>: only in src/net")

    def test_the_command_line_library_in_a_second_file(self):
        self.plant("src/cli/CMakeLists.txt",
                   'muster_room(cli\n  SENTENCE "Words in."\n  USES client wire)\n')
        self.plant("src/cli/words.cc", "#include <CLI/CLI.hpp>\n")
        self.run_house("--write")
        self.assertEqual(self.run_house()[0], 0)
        self.plant("src/cli/other.cc", "#include <CLI/CLI.hpp>\n")
        self.assert_red("in 2 files")

    def test_a_heavy_header_that_leaks_through_a_header(self):
        self.plant("src/client/CMakeLists.txt",
                   'muster_room(client\n  SENTENCE "Asks."\n  USES wire net)\n')
        self.plant("src/client/client.cc", '#include "wire/json.h"\n#include "wire/codec.h"\n')
        self.run_house("--write")
        self.assertEqual(self.run_house()[0], 0)
        self.plant("src/wire/codec.h", '#pragma once\n#include "wire/json.h"\n')
        self.assert_red("src/client/client.cc:2: gets <nlohmann/json.hpp> through src/wire/codec.h")

    # Text

    def test_a_file_of_801_lines(self):
        self.plant("src/core/step.cc", "int x;\n" * 800)
        self.assertEqual(self.run_house()[0], 0)
        self.plant("src/core/step.cc", "int x;\n" * 801)
        self.assert_red("src/core/step.cc: 801 lines")

    def test_a_function_of_71_lines(self):
        self.plant("src/core/step.cc", "int F(\n    int x) {\n" + "  ++x;\n" * 68 + "}\n")
        self.assertEqual(self.run_house()[0], 0)
        self.plant("src/core/step.cc", "int F(int x) {\n" + "  ++x;\n" * 69 + "}\n")
        self.assert_red("F has 71 lines")

    def test_a_long_namespace_is_no_function(self):
        self.plant("src/core/step.cc", "namespace muster {\n" + "int x;\n" * 99 + "}\n")
        self.assertEqual(self.run_house()[0], 0)

    def test_a_vague_type(self):
        self.plant("src/wire/codec.h", "#pragma once\nclass JobManager {\n};\n")
        self.assert_red("src/wire/codec.h:2: type JobManager ends in Manager")

    def test_a_vague_file(self):
        self.plant("src/core/string_util.h", "#pragma once\n")
        self.assert_red("ends in Util")

    def test_a_pimpl_may_be_called_impl(self):
        self.plant("src/wire/codec.h", "#pragma once\nclass Codec {\n  struct Impl {};\n};\n")
        self.assertEqual(self.run_house()[0], 0)

    def test_a_path_of_one_machine(self):
        self.plant("tools/run", "cd /wo" "rk/main\n")
        self.assert_red("is a path of one machine")

    def test_a_path_outside_the_checkout(self):
        self.plant("README.md", "See ../sha" "red/X.md\n")
        self.assert_red("outside the checkout")

    def test_a_registry_host(self):
        self.plant("tools/run", "curl https://py" "pi.org/simple\n")
        self.assert_red("is a registry host")

    def test_a_paper_outside_the_project(self):
        self.plant("src/core/step.cc", "// As DESI" "GN 12 says.\n")
        self.assert_red("is a paper")

    # Documents

    def test_a_dead_link(self):
        self.plant("README.md", "[x](docs/gone.md)\n")
        self.assert_red("there is no docs/gone.md")

    def test_a_dead_anchor(self):
        self.plant("README.md", "[x](ARCHITECTURE.md#three-words)\n")
        self.assert_red("has no such heading")

    def test_a_change_without_its_kind(self):
        self.plant("changes/a-thing.md", "We added a thing.\n")
        self.assert_red("is not `added|changed")

    def test_two_decisions_with_one_number(self):
        self.plant("docs/adr/0001-again.md", "# 1. Again\n")
        self.run_house("--write")
        self.assert_red("has the same number")

    def test_an_outdated_table_of_rooms(self):
        self.plant("src/core/CMakeLists.txt",
                   'muster_room(core\n  SENTENCE "Decides well."\n  TEST_USES wire)\n')
        self.assert_red("ARCHITECTURE.md: its part `rooms` is out of date")

    def test_writing_gives_the_table_and_keeps_the_rest(self):
        page = (self.folder / "ARCHITECTURE.md").read_text()
        self.assertIn("| `core` | Decides. | – |", page)
        self.assertTrue(page.startswith("# A\n\n## Two words\n"))


class Headers(unittest.TestCase):
    """The pieces of the package check; the whole runs on a real build in .ci/run."""

    def test_reads_what_ninja_says(self):
        deps = headers.parse_ninja_deps(
            "a.o: #deps 2, deps mtime 1 (VALID)\n    a.cc\n    /usr/include/x.h\n\n"
            "old.o: #deps 1, deps mtime 1 (STALE)\n    old.cc\n")
        self.assertEqual(deps, {"a.o": ["a.cc", "/usr/include/x.h"]})

    def test_reads_what_dpkg_says(self):
        self.assertEqual(headers.package_names("libc6 (>= 2.36), a | b:any, "),
                         ["libc6", "a", "b"])

    @unittest.skipUnless(shutil.which("dpkg-query"), "needs dpkg")
    def test_finds_the_owner_of_a_header(self):
        self.assertEqual(headers.owners({"/usr/include/stdio.h", "/nowhere/x.h"}),
                         {"/usr/include/stdio.h": "libc6-dev"})

    @unittest.skipUnless(shutil.which("dpkg-query"), "needs dpkg")
    def test_a_package_brings_its_dependencies_and_no_others(self):
        closed = headers.with_dependencies({"g++"})
        self.assertIn("libc6-dev", closed)
        self.assertNotIn("libsqlite3-dev", closed)

    def test_an_undeclared_package_is_red(self):
        """A real object file, made from a header whose package is not in the list."""
        if not all(map(shutil.which, ("g++", "ninja", "dpkg-query"))):
            self.skipTest("needs g++, ninja and dpkg")
        with tempfile.TemporaryDirectory(prefix="house-") as name:
            folder = pathlib.Path(name)
            (folder / "src").mkdir()
            (folder / "tools").mkdir()
            (folder / "build").mkdir()
            (folder / "src/a.cc").write_text("#include <stdio.h>\n#include <zstd.h>\n")
            (folder / "build/build.ninja").write_text(
                "rule cc\n  depfile = $out.d\n  deps = gcc\n"
                "  command = g++ -MD -MF $out.d -c $in -o $out\n"
                "build a.o: cc ../src/a.cc\n")
            headers.subprocess.run(["ninja", "-C", folder / "build", "--quiet"], check=True)
            for listed, findings in ((("g++", "libc6-dev", "libzstd-dev"), 0), (("g++",), 2),
                                     (("g++", "libc6-dev"), 1)):
                (folder / "tools/packages.txt").write_text(
                    "".join(f"build {package} x\n" for package in listed))
                tree = check_house.Tree(folder)
                found = [str(f) for f in headers.check_headers(tree, folder / "build")]
                self.assertEqual(len(found) > 0, findings > 0, found)
                if findings:
                    self.assertIn("zstd", " ".join(found))


if __name__ == "__main__":
    unittest.main()
