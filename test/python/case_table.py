# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The format of lit tests that are lines of a table.

A folder may hold a file `cases.txt`. A line of it is a test: a name, and the command that the test runs.

    mlp-dp2          case.py mlp dp2
    resnet-dp2-gpu   %cuda_stub case.py resnet dp2 --gpu=emulated

A script without a folder is run by Python from the folder of the table; substitutions are those of other tests. lit calls the test
`FOLDER/NAME.case`. Empty lines and lines that begin with `#` are comments.
"""
import os

import lit.Test
import lit.formats

TABLE = "cases.txt"


class TableTest(lit.Test.Test):
    """A test whose source is written into the build folder."""

    def getSourcePath(self):
        return self.getExecPath()


def read_table(path):
    """Yields the names and commands of a table; a line without a command, or a name that was given before, is an error."""
    names = set()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) < 2 or words[0] in names:
                raise ValueError(f"{path}:{number}: a line is a new name and a command")
            names.add(words[0])
            yield words[0], words[1:]


def write_source(path, folder, command):
    """Writes the shell test that runs a command, with the table's scripts found in `folder`."""
    words = [f"%python {os.path.join(folder, word)}" if word.endswith(".py") and os.sep not in word else word for word in command]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"RUN: {' '.join(words)}\n")


class TableTests(lit.formats.ShTest):
    """The format of shell tests that finds the lines of tables too."""

    def getTestsInDirectory(self, suite, path_in_suite, lit_config, local_config):
        yield from super().getTestsInDirectory(suite, path_in_suite, lit_config, local_config)
        folder = suite.getSourcePath(path_in_suite)
        table = os.path.join(folder, TABLE)
        if not os.path.isfile(table):
            return
        for name, command in read_table(table):
            test = TableTest(suite, path_in_suite + (f"{name}.case",), local_config)
            write_source(test.getExecPath(), folder, command)
            yield test
