# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that the folders of the runtime have one order: a library depends on those above it, README.md lists them as
runtime/CMakeLists.txt does, and no include goes around the build from one folder to another.

RUN: %python %s %source
"""
import os
import re
import sys

ROOM = re.compile(r"^mw_runtime_(?:library|interface)\((\w+) ([\w/]+)(.*?)\)$", re.M | re.S)
OUTSIDE = {"MWPackageProto", "MWMachineProto"}


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def check_order(root):
    text = read(root, "runtime", "CMakeLists.txt")
    text = text.replace("include(MeshwrightCuda)", read(root, "cmake", "MeshwrightCuda.cmake"))
    known, folders, wrong = set(OUTSIDE), [], []
    for library, folder, rest in ROOM.findall(text):
        depends = set(re.findall(r"\bMW\w+", rest.partition("DEPENDS")[2]))
        wrong += [f"{library} depends on {other}, which does not stand above it" for other in sorted(depends - known)]
        known.add(library)
        folders.append(folder)
    rows = re.findall(r"^\| `([\w/]+)` \|", read(root, "runtime", "README.md"), re.M)
    if rows != ["proto"] + folders:
        wrong.append(f"README.md lists {rows}, CMakeLists.txt {['proto'] + folders}")
    return wrong, folders


def check_includes(root, folders):
    wrong = []
    for folder in folders:
        room = os.path.join(root, "runtime", folder)
        for place, _, files in os.walk(room):
            for name in files:
                for path in re.findall(r'^#include "(\.\./[^"]+)"', read(place, name), re.M):
                    if not os.path.normpath(os.path.join(place, path)).startswith(room + os.sep):
                        wrong.append(f"{os.path.join(place, name)}: {path} is of another folder")
    for place, _, files in os.walk(os.path.join(root, "tools", "dist-run")):
        for name in files:
            wrong += [f"{os.path.join(place, name)}: {path} is private to the runtime"
                      for path in re.findall(r'^#include "((?:runtime|backend|devices)/[^"]+)"', read(place, name), re.M)]
    return wrong


def main(root):
    wrong, folders = check_order(root)
    wrong += check_includes(root, folders)
    sys.exit("\n".join(wrong) if wrong or len(folders) < 2 else 0)


main(sys.argv[1])
