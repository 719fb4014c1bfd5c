# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A build folder of a few tests, on which tests of tools/dev/run-tests run it."""
import pathlib
import subprocess
import sys

# lit looks for its keywords in test scripts too.
RUN, REQUIRES = "RUN" ":", "REQUIRES" ":"
_CONFIGURATION = """
import lit.formats
import os
config.llvm_tools = r"{llvm_tools}"
config.name = "fake"
config.suffixes = [".test"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_exec_root = config.test_source_root = os.path.dirname(__file__)
"""


class SmallBuild:
    """The folder `build` in `folder`, with one GoogleTest, which is a script, and lit tests by name."""

    def __init__(self, source, folder, llvm_tools):
        self._run_tests = pathlib.Path(source) / "tools" / "dev" / "run-tests"
        self._build = pathlib.Path(folder) / "build"
        self._tests = self._build / "test"
        self._tests.mkdir(parents=True, exist_ok=True)
        (self._tests / "lit.site.cfg.py").write_text(_CONFIGURATION.format(llvm_tools=llvm_tools))

    def write_unit_test(self, text):
        binary = self._tests / "SomeTests"
        binary.write_text(text)
        binary.chmod(0o755)
        (self._tests / "unit-tests.txt").write_text(f"{binary}\n")

    def write_lit_tests(self, tests):
        for name, text in tests.items():
            (self._tests / f"{name}.test").write_text(f"{text}\n")

    def expect(self, options, status, lines):
        """Checks that a run ends with the status, and that its output contains the lines, of which the last one ends it; returns the output."""
        done = subprocess.run([sys.executable, self._run_tests, self._build, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        found = done.stdout.splitlines()
        if done.returncode != status or not all(any(line in other for other in found) for line in lines) or not found[-1].endswith(lines[-1]):
            sys.exit(f"run-tests {options} ended with {done.returncode} and\n{done.stdout}\nnot with {status} and {lines}")
        return done.stdout
