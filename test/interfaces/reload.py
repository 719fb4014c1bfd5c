# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# RUN: %python %s %bin
"""A program may open each of the shared libraries, close it and open it again: what the library registered before does not end the process, and its
functions have their addresses still."""
import ctypes
import pathlib
import subprocess
import sys

import _ctypes

FUNCTIONS = {
    "libmeshwright_package.so": None,
    "libmeshwright_compiler.so": "mwContextCreate",
    "libmeshwright_runtime.so": "mwPackageOpen",
    "libMeshwrightPlugin.so": "mlirGetPassPluginInfo",
}


def find_address(library, name):
    return name and ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def reload(path):
    """Opens a library three times, and closes it in between."""
    addresses = set()
    for _ in range(3):
        library = ctypes.CDLL(path)
        addresses.add(find_address(library, FUNCTIONS[pathlib.Path(path).name]))
        _ctypes.dlclose(library._handle)
    assert len(addresses) == 1, addresses


folder = pathlib.Path(sys.argv[1]).absolute()
if folder.name in FUNCTIONS:
    reload(str(folder))
else:
    for name in FUNCTIONS:
        # A process each: one that has had another of the libraries has the schema of packages already.
        done = subprocess.run([sys.executable, __file__, folder.parent / "lib" / name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, f"{name} ended the process with {done.returncode}:\n{done.stdout}"
