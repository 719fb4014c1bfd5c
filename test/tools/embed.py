# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp %bin
# UNSUPPORTED: sanitizer
"""Projects of their own use the compiler and the runtime, built against an installed prefix: one explains a plan as dist-opt does, others run packages. As a subdirectory of it,
Meshwright is configured and its first library is built; the rest are the same files."""
import os
import pathlib
import re
import shutil
import sys

from commands import run

folder, bin_folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
build = bin_folder.parent
root = pathlib.Path(__file__).resolve().parents[2]
lines = (build / "CMakeCache.txt").read_text().splitlines()
cache = {line.split(":")[0]: line.partition("=")[2] for line in lines if "=" in line and not line.startswith(("#", "//"))}
tools = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"] + [f"-D{name}={cache[name]}" for name in ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER")]
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
os.chdir(folder)

run("cmake", "--install", build, "--prefix", folder / "prefix", "--strip")
run("cmake", "-S", root / "examples/embed-cmake", "-B", "embed", *tools, f"-DCMAKE_PREFIX_PATH={folder}/prefix")
run("cmake", "--build", "embed")
model, strategy = root / "test/fixtures/gpt2-8.mlir", root / "examples/gpt2/dp2-tp2.textproto"
embedded = run("embed/explain", model, strategy)
own = run("prefix/bin/dist-opt", model, f"--strategy={strategy}", "--explain=-", "--quiet")
# dist-opt names lines of the file that it reads; a module in memory has the locations that its maker gave it, here lines of the model.
assert "gpt2-8.mlir:" in own and "modeling_flax_gpt2.py:" in embedded
for mine, theirs in zip(own.splitlines(), embedded.splitlines(), strict=True):
    assert re.sub(r"\S+:\d+$", "", mine).rstrip() == re.sub(r"\S+:\d+$", "", theirs).rstrip(), (mine, theirs)
assert "c_allreduce" in embedded

# The runtime alone, in C and C++, without MLIR and LLVM.
runtime = folder / "runtime"
runtime.mkdir()
(runtime / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(Runs LANGUAGES C CXX)
find_package(Meshwright 0.1 REQUIRED COMPONENTS runtime)
if(MLIR_FOUND OR TARGET Meshwright::compiler)
  message(FATAL_ERROR "the runtime brings the compiler")
endif()
add_executable(run {root}/test/lib/CApi/run.c)
target_link_libraries(run PRIVATE Meshwright::runtime)
add_executable(open open.cpp)
target_link_libraries(open PRIVATE Meshwright::runtime)
""")
(runtime / "open.cpp").write_text("""#include "meshwright/runtime/Session.h"
#include <cstdio>
using namespace meshwright::runtime;
int main(int, char **argv) {
  auto package = LoadedPackage::open(argv[1]);
  if (!package.ok())
    return 1;
  auto session = Session::create(*package, {});
  std::printf("%d ranks\\n", static_cast<int>((*session)->getNumRanks()));
}
""")
run("cmake", "-S", runtime, "-B", "runs", *tools, f"-DCMAKE_PREFIX_PATH={folder}/prefix")
run("cmake", "--build", "runs")
linked = run("ldd", "runs/open")
assert "libmeshwright_runtime.so.0" in linked and "MLIR" not in linked and "LLVM" not in linked, linked
run("prefix/bin/dist-opt", root / "test/fixtures/mlp-tiny.mlir", f"--strategy={root}/test/interfaces/Inputs/mlp.textproto", "--emit=package", "--quiet")
assert run("runs/open", "package") == "4 ranks\n"
assert "p.layer0.bias is whole on a rank" in run("runs/run", "package", "saved.safetensors")

run("cmake", "-S", root / "examples/embed-cmake", "-B", "inside", *tools, f"-DMESHWRIGHT_SOURCE={root}")
run("cmake", "--build", "inside", "--target", "MWCommon")
