# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %bin
# UNSUPPORTED: sanitizer
"""The shared libraries show the names of the namespace, the C API, and what makes types one in a process, and nothing of the standard library, LLVM,
MLIR, protobuf or oneDNN, which a program may have in another version."""
import pathlib
import re
import sys

from commands import run

libraries = pathlib.Path(sys.argv[1]).resolve().parent / "lib"
# What a demangled name begins with: kinds of tables of a class, then its name. A function template begins with the type that it returns.
OWN = r"(typeinfo for |typeinfo name for |vtable for |guard variable for )?meshwright::"
C_API = r"mw[A-Z]\w*$"
WANTED = {
    "libmeshwright_compiler.so": [OWN, C_API, r"mlir::detail::TypeIDResolver<meshwright::.*, void>::id$"],
    "libmeshwright_runtime.so": [OWN, C_API],
    "libmeshwright_package.so": [OWN, r"descriptor_table_package_2eproto"],
    "libMeshwrightPlugin.so": [r"mlirGet(Dialect|Pass)PluginInfo$"],
}
NEEDED = {
    "libmeshwright_compiler.so": ["mwCompile", "meshwright::compile(", "mlir::detail::TypeIDResolver<meshwright::net::DotOp, void>::id"],
    "libmeshwright_runtime.so": ["mwSessionStep", "meshwright::runtime::Session::create("],
    "libmeshwright_package.so": ["meshwright::Package::Package("],
    "libMeshwrightPlugin.so": ["mlirGetDialectPluginInfo", "mlirGetPassPluginInfo"],
}
for library, patterns in WANTED.items():
    lines = run("nm", "--dynamic", "--demangle", "--defined-only", libraries / library).splitlines()
    names = [line.split(" ", 2)[2].split("@@")[0] for line in lines if len(line.split(" ", 2)) == 3]
    wanted = re.compile("|".join(patterns))
    others = [name for name in names if not wanted.match(name)]
    assert not others, (library, len(others), others[:10])
    for needed in NEEDED[library]:
        assert any(name.startswith(needed) for name in names), (library, needed)
