# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes other shardings into an annotated step (tools/dev/export/annotated.py): those of another style of parallelism.

The fixtures have the style `sequence`; the others differ from it in the shardings of arguments and results, and in constraints, which they
lack.
"""
import re

COLUMNS = re.compile(r"(c_attn|c_fc|attention'\]\['[qkv]|gate|up)'\]\['kernel'\]$|(c_attn|c_fc)'\]\['bias'\]$")
ROWS = re.compile(r"(c_proj|attention'\]\['o|down)'\]\['kernel'\]$")
ARGUMENT = re.compile(r'(tensor<([\dx]*)[a-z]+\d+> \{)sdy\.sharding = #sdy\.sharding<@mesh, \[[^\]]*\]>(.*?\} loc\((?:"([^"]*)"|#(loc\d*))\))')


def make_dims(style, path, shape):
    """The axes of each dimension of a parameter, or of state with its path's end and its shape."""
    dims = [[] for _ in shape]
    if style != "fsdp":
        transposed = re.search("c_attn|c_fc|c_proj", path)
        if COLUMNS.search(path):
            dims[0 if transposed else -1] = ["model"]
        elif ROWS.search(path):
            dims[1 if transposed else 0] = ["model"]
    if style != "megatron" and len(shape) > 1:
        free = [dim for dim, size in enumerate(shape) if not dims[dim] and size % 2 == 0]
        if free:
            dims[free[0]] = ["data"]
    return dims


def write(dims):
    return "[" + ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim) + "}" for dim in dims) + "]"


def restyle(text, style):
    """The text of the fixture in another style: `megatron`, `fsdp` or `both`."""
    locations = dict(re.findall(r'^#(loc\d*) = loc\("([^"]*)"\)$', text, re.M))
    heads, bodies, tails = text.partition("func.func public @main(")
    signature, arrow, rest = tails.partition(") -> (")
    shardings = []

    def replace(found):
        path = found[4] or locations[found[5]]
        shape = [int(size) for size in found[2].split("x") if size]
        sharding = re.search(r"\[[^\]]*\]", found[0])[0] if path == "ids" else write(make_dims(style, path, shape))
        donated = re.search(r"tf\.aliasing_output = (\d+)", found[3])
        if donated:
            shardings.append((int(donated[1]), sharding))
        return f"{found[1]}sdy.sharding = #sdy.sharding<@mesh, {sharding}>{found[3]}"

    signature = ARGUMENT.sub(replace, signature)
    results, end, body = rest.partition(") {\n")
    parts = re.split(r"(sdy\.sharding = #sdy\.sharding<@mesh, \[[^\]]*\]>)", results)
    for result, sharding in shardings:
        parts[2 * result + 1] = f"sdy.sharding = #sdy.sharding<@mesh, {sharding}>"
    # A constraint becomes a barrier, which is its operand too and says nothing.
    body = re.sub(r"sdy\.sharding_constraint (%\w+) <@mesh, \[[^\]]*\]>", r"sdy.propagation_barrier \1 allowed_direction=BOTH", body)
    return heads + bodies + signature + arrow + "".join(parts) + end + body
