# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %source/tools/dev/bench %tmp | FileCheck %s
"""Tests what the plans of an annotated transformer's step send, without a strategy, against closed formulas.

The batch is split over b, heads and hidden features over m, and the state of the optimizer (Z2) or the parameters (Z3) over b, all by
Shardy's annotations in the text. A parameter that is split over b is stored so: gathered for forward and for backward, and its gradient
scattered. What the formulas leave out is the loss, a scalar.
"""
import json
import pathlib
import subprocess
import sys

bench, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
sys.path.insert(0, str(bench))

import annotated_transformer  # noqa: E402

sizes = annotated_transformer.make_parser("").parse_args([])


def plan(strategy, *options):
    text = folder / f"{strategy}.mlir"
    text.write_text(annotated_transformer.Network(sizes, strategy).text())
    done = subprocess.run(["dist-opt", text, *options, f"--plan={folder}/plan.json", "-o", folder / "module.mlir"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return json.loads((folder / "plan.json").read_text())


# CHECK: MP: 33.6 MB c_allreduce 8
# CHECK: BP: 62.9 MB
# CHECK: BP+MP: 46.1 MB
# CHECK: BP+MP+Z2: 46.1 MB
# CHECK: BP+MP+Z3: 65.0 MB
for strategy in ("MP", "BP", "BP+MP", "BP+MP+Z2", "BP+MP+Z3"):
    totals = plan(strategy)["totals"]
    expected = annotated_transformer.count_bytes(sizes, strategy)
    print(f"{strategy}: {totals['bytes'] / 1e6:.1f} MB", " ".join(f"{kind} {total['count']}" for kind, total in totals["by_kind"].items()))
    if not expected <= totals["bytes"] <= expected + 64:
        sys.exit(f"{strategy}: {totals['bytes']} bytes are not {expected}, and a scalar")
