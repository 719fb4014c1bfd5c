# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons of graphs by dist-verify, and edits of the programs that this compiler exports, which have to differ."""
import re
import subprocess
import sys


def verify_graphs(*arguments):
    return subprocess.run(["dist-verify", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def expect_equal(*arguments):
    done = verify_graphs(*arguments)
    if done.returncode != 0 or "exactly th" not in done.stdout:
        sys.exit(f"{arguments} is refused:\n{done.stdout}")


def expect_refused(parts, *arguments, status=1):
    done = verify_graphs(*arguments)
    if done.returncode != status or any(part not in done.stdout for part in parts):
        sys.exit(f"{arguments} ends with {done.returncode} and without {parts}:\n{done.stdout}")


def list_edits(text):
    """Wrong modules with their kinds: another reduction, other groups, the branches of a conditional or the first and the other slices exchanged, a mask
    that hides scores by another number, or others."""
    # Of floats: whether anything was counted is the same of the sum and of the largest count.
    for found in re.finditer(r'"stablehlo\.all_reduce"\(.*\n *\^bb0\(%\w+: tensor<b?f', text):
        yield "reduction", text[:found.start()] + text[found.start():].replace("stablehlo.add", "stablehlo.maximum", 1)
    for found in re.finditer(r"replica_groups = dense<\[\[0, (1|2)\], .*?>", text):
        other = "[[0, 2], [1, 3]]" if found.group(1) == "1" else "[[0, 1], [2, 3]]"
        yield "groups", text[:found.start()] + f"replica_groups = dense<{other}>" + text[found.end():]
    for found in re.finditer(r"stablehlo\.select (%\w+), (%\w+), (%\w+) : tensor<i1>, tensor<\d+x", text):
        first, other = found.group(2, 3)
        yield "first", text[:found.start(2)] + f"{other}, {first}" + text[found.end(3):]
    for found in re.finditer(r'"stablehlo\.if"\((%\w+)\)', text):
        condition = re.search(rf"{re.escape(found.group(1))} = stablehlo\.compare EQ,", text)
        if condition:
            yield "branches", text[:condition.start()] + condition.group().replace("EQ", "NE") + text[condition.end():]
    # Of squares: another number than minus infinity beside the columns of a vocabulary only seldom is the largest.
    for found in re.finditer(r"stablehlo\.constant dense<(0xFFF0000000000000|-1\.797\d*E\+308)> : tensor<(?:\d+x)*?(\d+)x\2x", text):
        yield "hidden", text[:found.start(1)] + "-1.000000e+09" + text[found.end(1):]
    for found in re.finditer(r"stablehlo\.compare GE, .*: \(tensor<1x(\d+)x\1xi32>", text):
        yield "mask", text[:found.start()] + found.group().replace("GE", "LE") + text[found.end():]
