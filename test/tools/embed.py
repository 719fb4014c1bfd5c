# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp %bin
# UNSUPPORTED: sanitizer
"""Projects of their own use the compiler and the runtime, built against an installed prefix: one explains a plan as dist-opt does, one partitions a
dialect of its own, one is that of docs/embedding.md, and others run packages. With Meshwright as a subdirectory the first two are compiled with headers
of the build folder; the libraries have the same sources, and are built and linked too where MESHWRIGHT_TEST_ROUNDS is set."""
import os
import pathlib
import re
import shutil
import sys

import numpy

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

# A dialect of the project's own, partitioned by the rules that it attaches: rows over two ranks, features over three, and a sum over these.
partitioned = run("embed/partition", root / "examples/embed-cmake/dp2-tp3.textproto")
first, relu, second = (line for line in partitioned.splitlines() if "brick." in line)
assert '"brick.linear"' in first and "(tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x4xf32>" in first, first
assert '"brick.relu"' in relu and "(tensor<4x4xf32>) -> tensor<4x4xf32>" in relu, relu
assert '"brick.linear"' in second and "(tensor<4x4xf32>, tensor<6x4xf32>) -> tensor<4x6xf32>" in second, second
assert re.search(r'c_allreduce .* axes \["tp"\].*tensor<4x6xf32>', partitioned), partitioned

# The program of docs/embedding.md.
page = (root / "docs/embedding.md").read_text(encoding="utf-8")
blocks = {kind: [code for other, code in re.findall(r"^```(\w+)\n(.*?)^```", page, re.M | re.S) if other == kind] for kind in ("cmake", "cpp", "sh")}
project = folder / "page"
project.mkdir()
(project / "CMakeLists.txt").write_text(blocks["cmake"][0])
(project / "distribute.cpp").write_text(blocks["cpp"][0])
run("cmake", "-S", project, "-B", "distribute-build", *tools, f"-DCMAKE_PREFIX_PATH={folder}/prefix")
run("cmake", "--build", "distribute-build")
shutil.copy("distribute-build/distribute", project)
shutil.copy(root / "test/fixtures/mlp-tiny.mlir", project / "model.mlir")
numpy.save(project / "x.npy", numpy.ones((64, 12), numpy.float32))
numpy.save(project / "y.npy", numpy.arange(64, dtype=numpy.int32) % 10)
os.environ["PATH"] = f"{folder}/prefix/bin:{os.environ['PATH']}"
os.chdir(project)
distribute, dist_run = blocks["sh"][0].splitlines()
assert "c_allreduce" in run(*distribute.split())
assert "loss" in run(*dist_run.split())
os.chdir(folder)
# The rule that the page shows is that of the example.
shown = next(code for code in blocks["cpp"] if code.startswith("struct LinearSharding"))
assert shown in (root / "examples/embed-cmake/partition.cpp").read_text(), shown

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
if os.environ.get("MESHWRIGHT_TEST_ROUNDS"):
    run("cmake", "--build", "inside")
    assert run("inside/partition", root / "examples/embed-cmake/dp2-tp3.textproto") == partitioned
else:
    run("cmake", "--build", "inside", "--target", "CMakeFiles/explain.dir/main.cpp.o", "CMakeFiles/partition.dir/partition.cpp.o")
