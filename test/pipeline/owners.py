# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests what is shown of a network whose variables have owners: the program of a rank, before and after Schedule, has what that rank keeps, and
# the plan has a program for each owner and the bytes that the formulas say.
#
# RUN: sed s/OUTER/2/ %S/../exec/Inputs/owners.mlir > %t.mlir
# RUN: dist-opt %t.mlir --from=partition --to=partition --rank=1 > %t.before
# RUN: dist-opt %t.mlir --from=partition --to=schedule --rank=1 > %t.after
# RUN: dist-opt %t.mlir --from=partition --to=schedule --plan=%t.json --explain=%t.txt
# RUN: %python %s %t
import json
import re
import sys

prefix = sys.argv[1]

# Rank 1 is the last of axis "zero": it has @a.
for name in ("before", "after"):
    text = open(f"{prefix}.{name}").read()
    assert text.count("func.func") == 1, name
    # The matrices; the scalars of the norm are the neutral element of others.
    assert set(re.findall(r"net\.read (@\w+)", text)) == {"@a", "@ma"}, name
    assert set(re.findall(r"net\.assign (@\w+)", text)) == {"@a", "@ma"}, name
before, after = open(f"{prefix}.before").read(), open(f"{prefix}.after").read()
absent = re.search(r"(%\w+) = dist\.absent : tensor<5x3xf64>", before).group(1)
assert f"dist.c_broadcast {absent} axes" in before
assert before.count("dist.c_reduce ") == 2 and "dist.on" not in after.split("attributes", 1)[1].split("}", 2)[2]
assert "broadcast() roots [0] elsewhere [0]" in after

plan = json.load(open(f"{prefix}.json"))
first, last = plan["programs"]
assert (first["first_rank"], first["ranks"], last["first_rank"], last["ranks"]) == (0, 2, 1, 2)
a, b, scalar = 6 * 5 * 8, 5 * 3 * 8, 8
assert (first["variable_bytes"], last["variable_bytes"]) == (2 * b, 2 * a)
expected = {
    "c_broadcast": {"count": 2, "bytes": (a + b) / 2},
    "c_reduce": {"count": 2, "bytes": (a + b) / 2},
    # The loss over four ranks, the norm over two; of the gradients every rank reduces over the replicas what it owns.
    "c_allreduce": {"count": 4, "bytes": 2 * scalar * 3 / 4 + 2 * scalar / 2 + (2 * a / 2 + 2 * b / 2) / 2},
}
assert plan["totals"]["by_kind"] == expected, plan["totals"]
for program in (first, last):
    kinds = sorted(conversion["kind"] for conversion in program["conversions"])
    assert kinds == ["c_allreduce"] * 3 + ["c_broadcast"] * 2 + ["c_reduce"] * 2, kinds
    assert program["persistent_bytes"] < program["peak_bytes"]
# Offsets are multiples of 64: two matrices of 240 bytes take 512, two of 120 take 256.
assert last["persistent_bytes"] - first["persistent_bytes"] == 256
text = open(f"{prefix}.txt").read()
assert "4 ranks, 2 programs" in text and "program of rank 1 and 1 others" in text
