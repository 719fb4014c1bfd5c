# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs of tests under valgrind's memcheck, in a build without sanitizers.

A program that tests find in PATH is a script, in a folder before all others, that starts the program of that name under valgrind. So programs are checked that have no
sanitizer: mlir-opt, which loads the plugin, and Python, which loads the libraries of compiler and runtime.
"""
import os
import shlex
import shutil

# --undef-value-errors, the default, also reports decisions on memory that nothing has written. A leak is memory that no pointer leads to.
OPTIONS = "--quiet --error-exitcode=99 --num-callers=30 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite"
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "memcheck.supp")
# What the interpreter and its extensions leave at their end is not ours: with Python, leaks are not looked for. Its allocator would hide accesses to freed objects.
PYTHON = "env PYTHONMALLOC=malloc valgrind --leak-check=no"


def is_available():
    return shutil.which("valgrind") is not None


def get_options(folder):
    """The value of VALGRIND_OPTS with which every process writes its report to a file of `folder`, which stays empty where there is nothing to report."""
    return f"{OPTIONS} --suppressions={SUPPRESSIONS} --log-file={folder}/memcheck.%p"


def write_wrappers(folder, programs):
    """Makes `folder` anew, with a script for each of `programs`, which are paths."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for program in programs:
        path = os.path.join(folder, os.path.basename(program))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec valgrind {shlex.quote(program)} "$@"\n')
        os.chmod(path, 0o755)


def list_programs(*folders):
    """The paths of the executables of folders, without shared libraries."""
    paths = [os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in sorted(os.listdir(folder))]
    return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK) and not path.endswith(".so")]
