# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collects the reports of sanitizers, or of memcheck, for the programs of a test.

Every process writes its reports to a file of its own. So a test fails if one of its programs has a fault, even if the test expects an error or
ignores the exit status of the program.
"""
import pathlib
import shutil

import memcheck

_VARIABLES = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
# The limit for the text of a report, which may name every thread that ever ran.
_MAX_LINES = 120


class Reports:
    """A folder, made anew, for the reports of what is started with `environment`, which is changed."""

    def __init__(self, folder, environment):
        self._folder = pathlib.Path(folder)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        for variable in _VARIABLES:
            options = environment.get(variable, "").split(":log_path=")[0]
            environment[variable] = f"{options}:log_path={self._folder}/report:log_exe_name=1"
        environment["VALGRIND_OPTS"] = memcheck.get_options(self._folder)

    def take(self):
        """The text of all reports; the folder is left where there is one."""
        text = ""
        for path in sorted(self._folder.iterdir()):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            # Memcheck has a file for a process without a fault, too.
            text += "\n".join([f"--- {path}", *lines[:_MAX_LINES], ""]) if lines else ""
        if not text:
            shutil.rmtree(self._folder)
        return text
