# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp | FileCheck %s
"""Tests the segments and fetches of parameters against the rules, applied here to the printed program.

The program is printed after its placements are complete and before it is cut. From the text alone come: the operations of forward and
backward, which of them use which parameter that is kept elsewhere (through operations that only move elements), and the bytes of a
parameter on a rank. The rules give where segments begin, what each fetches, what is kept and where fetches start; `--plan` has to say the
same. Then the cut program is read: every use of what is not owned has a read in its segment, or one that is kept, and the bytes alive stay
within the limit. Volumes are counted from the network: every parameter once for forward and once for backward where they use it, and one
gradient.
"""
import json
import pathlib
import re
import subprocess
import sys

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
MB = 10**6
# Operations that only move or convert elements, or keep their order: what they make of a parameter still is one.
MOVING = {"reshape", "transpose", "broadcast", "slice", "reverse", "convert", "exponential", "tanh", "sqrt", "logistic", "log"}
SPLITS = [("*.attn.c_attn.kernel", 0, 3), ("*.attn.c_attn.bias", 0, 3), ("*.attn.c_proj.kernel", 1, 1), ("*.mlp.c_fc.kernel", 0, 1),
          ("*.mlp.c_fc.bias", 0, 1), ("*.mlp.c_proj.kernel", 1, 1), ("*.wte.embedding", 0, 1)]


def run(*command, fails=False):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stderr if fails else done.stdout


def write_strategy(axes, zero, path, train=""):
    lines = ["mesh { " + " ".join(f'axes {{ name: "{name}" size: {size} }}' for name, size in axes.items()) + " }",
             'model { parameters: "p.*" batch { inputs: "ids" } }',
             f"train {{ adamw {{ lr {{ constant: 1e-3 }} }} {train} }}",
             "data { " + " ".join(f'axes: "{name}"' for name in axes if name != "tp") + " }",
             "zero { " + " ".join(f'axes: "{name}"' for name in axes if name != "tp") + f" stage: 3 {zero} }}"]
    if "tp" in axes:
        lines.append('tensor { axis: "tp" ' +
                     " ".join(f'split {{ match: "{glob}" dim: {dim} groups: {groups} }}' for glob, dim, groups in SPLITS) + " }")
    path.write_text("\n".join(lines) + "\n")


class Operation:
    """One line of the printed program."""

    def __init__(self, results, kind, operands, line):
        self.results, self.kind, self.operands, self.line = results, kind, operands, line
        role = re.search(r"#net\.role<(\w+)>", line)
        self.role = role.group(1) if role else None
        scope = re.search(r'net\.scope = "((?:[^"\\]|\\.)*)"', line)
        self.scope = scope.group(1).replace("\\\\", "\\") if scope else None

    def attribute(self, name):
        found = re.search(rf"dist\.{name} = (\d+)", self.line)
        return int(found.group(1)) if found else None


def read_program(text):
    variables, operations = {}, []
    for line in text.splitlines():
        line = line.strip()
        found = re.match(r'net\.variable (\w+) @("[^"]*"|[\w.$-]+)', line)
        if found:
            variables[found.group(2)] = re.search(r"dist\.mapping = #dist\.mapping<([^>]*)>", line).group(1)
            continue
        found = re.match(r"(?:(%\w+) = )?((?:net|dist|func)\.)?([a-z]\w*)\b(.*)", line)
        if not found or found.group(3) in ("module", "mesh") or line.startswith("func.func"):
            continue
        head = re.split(r" \{dist\.| \{net\.| dense<", found.group(4))[0]
        operations.append(Operation(found.group(1), found.group(3), re.findall(r"%\w+", head), line))
    return variables, operations


def count_bytes(line, mapping, axes):
    """The bytes of a value on a rank, from the digits of its placement; sizes of the fixture divide where they are split, or are cut by ceiling."""
    dims, kind = re.search(r"tensor<((?:\d+x)*)([a-z]+\d+)>", line).groups()
    total = int(re.search(r"\d+", kind).group(0)) // 8
    digits = json.loads(re.search(r"dims = (\[.*\])", mapping).group(1))
    for size, split in zip([int(size) for size in dims.split("x") if size], digits):
        for digit in split:
            if isinstance(digit, str):
                size = -(-size // axes[digit])
        total *= size
    return total


def find_narrowed(operations):
    """Reads of which smaller elements are made by all their uses, with the line of one of these."""
    users = {}
    for operation in operations:
        for operand in operation.operands:
            users.setdefault(operand, []).append(operation)
    narrowed = {}
    for operation in operations:
        uses = users.get(operation.results, [])
        types = {re.search(r"-> (tensor<.*>)", use.line).group(1) if use.kind == "convert" else None for use in uses}
        if operation.kind == "read" and len(types) == 1 and None not in types:
            narrowed[operation.results] = f"{types.pop()}"
    return narrowed


def analyze(text, axes):
    """The parameters that are kept elsewhere and the operations of forward and backward with what they use."""
    variables, operations = read_program(text)
    parameters, source, items = {}, {}, []
    narrowed = find_narrowed(operations)
    for operation in operations:
        if operation.kind == "read":
            name = re.search(r'@("[^"]*"|[\w.$-]+)', operation.line).group(1)
            compute = re.search(r"dist\.results = \[#dist\.mapping<(.*?)>\]", operation.line).group(1)
            if operation.role != "optimize" and compute != variables[name]:
                source[operation.results] = name
                parameters[name] = count_bytes(narrowed.get(operation.results, operation.line), compute, axes)
        elif operation.kind in MOVING and operation.role != "optimize" and operation.operands[0] in source:
            source[operation.results] = source[operation.operands[0]]
        elif operation.role in ("forward", "backward"):
            items.append((operation, list(dict.fromkeys(source[operand] for operand in operation.operands if operand in source))))
    return parameters, items


def find_anchors(items, anchors):
    """Positions at which segments begin."""
    cuts = set()
    for anchor in anchors:
        block, side = anchor.rsplit(".", 1)
        inside = {role: [index for index, (operation, _) in enumerate(items) if operation.role == role and operation.operands and
                         ((operation.scope or "") + ".").startswith(block + ".")] for role in ("forward", "backward")}
        first, second = (inside["forward"][-1] + 1, inside["backward"][0]) if side == "out" else (
            inside["forward"][0], inside["backward"][-1] + 1)
        cuts |= {first, second}
    return cuts


def cut(parameters, items, megabytes, anchors):
    """Segments as lists of items."""
    cuts = find_anchors(items, anchors)
    segments, volume, used = [], 0, set()
    for index, (operation, uses) in enumerate(items):
        new = [name for name in uses if name not in used]
        more = sum(parameters[name] for name in new)
        full = not anchors and used and new and volume + more > megabytes * MB
        if not segments or index in cuts or operation.role != items[index - 1][0].role or full:
            segments.append([])
            volume, used = 0, set()
        segments[-1].append(index)
        volume += sum(parameters[name] for name in uses if name not in used)
        used |= set(uses)
    return segments


def plan_fetches(parameters, items, segments, keep, prefetch, max_live, max_in_flight):
    """Fetches as [name, segment, start, last], by brute force over segments."""
    uses = [list(dict.fromkeys(name for index in segment for name in items[index][1])) for segment in segments]
    fetches = []

    def live(at):
        return sum(parameters[fetch[0]] for fetch in fetches if fetch[2] <= at <= fetch[3])

    for number, names in enumerate(uses):
        for name in names:
            before = [fetch for fetch in fetches if fetch[0] == name]
            if before and keep:
                latest = before[-1]
                between = sum(parameters[fetch[0]] for fetch in fetches if latest[3] < fetch[1] < number)
                room = all(live(at) + parameters[name] <= max_live * MB for at in range(latest[3] + 1, number))
                if between <= keep * MB and room:
                    latest[3] = number
                    continue
            fetches.append([name, number, number, number])
    earliest = 0
    for number in range(len(segments)):
        mine = [fetch for fetch in fetches if fetch[1] == number]
        if not mine:
            continue
        size = sum(parameters[fetch[0]] for fetch in mine)
        start = number
        while start > max(0, number - prefetch, earliest):
            at = start - 1
            queued = {fetch[1] for fetch in fetches if fetch[2] <= at <= fetch[1]}
            if live(at) + size > max_live * MB or len(queued) + 1 > max_in_flight:
                break
            start = at
            for fetch in mine:
                fetch[2] = at
        earliest = start
    return fetches


def check_program(name, text, axes, max_live, plan):
    """Properties of the cut program, from its text."""
    variables, operations = read_program(text)
    # By value: the variable, the operation that fetches it, and whether it is the whole compute placement.
    fetched, users = {}, {}
    for operation in operations:
        if operation.kind == "read" and operation.role != "optimize" and operation.attribute("fetch_at") is not None:
            fetched[operation.results] = operation
            users[operation.results] = [operation.attribute("segment")]
        elif operation.kind == "reshard" and operation.attribute("fetch_at") is not None:
            fetched[operation.results] = operation
            users[operation.results] = [operation.attribute("segment")]
    narrowed = find_narrowed(operations)
    origin = {value: value for value in fetched}
    made = {}
    for operation in operations:
        segment = operation.attribute("segment")
        if operation.role in ("forward", "backward") and operation.kind not in ("read", "reshard") and segment is None:
            sys.exit(f"{name}: {operation.line[:100]} has no segment")
        for operand in operation.operands:
            if operand not in origin or operation.results in fetched or operation.kind == "reshard":
                continue
            users[origin[operand]].append(segment)
            if operand in narrowed:
                continue
            if operand in made and made[operand] != segment:
                sys.exit(f"{name}: {operand} of segment {made[operand]} is used in segment {segment}")
        if operation.kind in MOVING and operation.role != "optimize" and operation.operands[0] in origin:
            origin[operation.results] = origin[operation.operands[0]]
            # The communicated value is computed from the read, and may be kept for other segments.
            if operation.operands[0] not in narrowed:
                made[operation.results] = segment
    kept_elsewhere = {variable for variable, mapping in variables.items() if variable.startswith("p.") and "dp" in mapping}
    for operation in operations:
        if operation.kind == "read" and operation.role != "optimize" and operation.results not in fetched:
            variable = re.search(r'@("[^"]*"|[\w.$-]+)', operation.line).group(1)
            if variable in kept_elsewhere:
                sys.exit(f"{name}: @{variable} is read without fetch")
    segments = plan["segments"]
    live = [0] * len(segments)
    for value, operation in fetched.items():
        mapping = re.search(r"dist\.results = \[#dist\.mapping<(.*?)>\]", operation.line).group(1)
        start, segment = operation.attribute("fetch_at"), operation.attribute("segment")
        if not start <= segment <= min(users[value]):
            sys.exit(f"{name}: {operation.line[:80]} starts with {start} for {segment}")
        for at in range(start, max(users[value]) + 1):
            live[at] += count_bytes(narrowed.get(value, operation.line), mapping, axes)
    if live != [segment["live_bytes"] for segment in segments] or max(live) != plan["fetched_peak_bytes"]:
        sys.exit(f"{name}: alive are {live}, planned {[segment['live_bytes'] for segment in segments]}")
    if max(live) > max_live * MB:
        sys.exit(f"{name}: {max(live)} bytes are alive, more than {max_live * MB}")
    return len(fetched)


def check(name, axes, megabytes=32, anchors=(), prefetch=1, keep=0, max_live=2**20, max_in_flight=8, whole=False, train=""):
    fields = f"prefetch: {prefetch} max_in_flight: {max_in_flight}"
    fields += " segment { " + " ".join(f'anchors: "{anchor}"' for anchor in anchors) + " }" if anchors else \
        f" segment {{ megabytes: {megabytes} }}"
    fields += f" keep_within_megabytes: {keep}" if keep else ""
    fields += f" max_live_megabytes: {max_live}" if max_live < 2**20 else ""
    fields += " ownership: WHOLE" if whole else ""
    strategy, graph = folder / "strategy.textproto", fixtures / "gpt2-tiny-f64.mlir"
    write_strategy(axes, fields, strategy, train)
    run("dist-opt", graph, f"--strategy={strategy}", "--to=annotate", "-o", folder / "annotated.mlir")
    before = run("dist-opt", folder / "annotated.mlir", "--dist-complete-propagate")
    run("dist-opt", graph, f"--strategy={strategy}", "--to=complete", "-o", folder / "complete.mlir")
    run("dist-opt", graph, f"--strategy={strategy}", "--to=optimize", f"--plan={folder}/plan.json")
    result = json.loads((folder / "plan.json").read_text())
    plan = result["programs"][0]
    parameters, items = analyze(before, axes)
    segments = cut(parameters, items, megabytes, anchors)
    fetches = plan_fetches(parameters, items, segments, keep, prefetch, max_live, max_in_flight)
    ours = [[fetch["variable"], fetch["segment"], fetch["start"], fetch["last"]] for fetch in plan["fetches"]]
    expected = [[fetch[0].strip('"'), *fetch[1:]] for fetch in fetches]
    if ours != expected:
        sys.exit(f"{name}: fetches differ: {[pair for pair in zip(ours, expected) if pair[0] != pair[1]][:3]}, {len(ours)} and {len(expected)}")
    volumes = [sum(parameters[use] for use in {use for index in segment for use in items[index][1]}) for segment in segments]
    if volumes != [segment["volume"] for segment in plan["segments"]]:
        sys.exit(f"{name}: volumes are {[segment['volume'] for segment in plan['segments']]}, not {volumes}")
    count = check_program(name, (folder / "complete.mlir").read_text(), axes, max_live, plan)
    kept = sum(fetch["reason"].count("kept for") for fetch in plan["fetches"])
    ahead = max(fetch["segment"] - fetch["start"] for fetch in plan["fetches"])
    print(f"{name}: {len(segments)} segments, {count} fetches, {kept} kept, at most {ahead} ahead")
    return result


def check_volume(name, result, n, tied):
    """Bytes per step and rank from the network, whose first and last layer share a table that forward fetches `tied` times: width 32, 2 layers, vocabulary 97, 16 positions, f64."""
    width, layers, vocabulary, positions = 32, 2, 97, 16
    weights, biases, norms = 12 * width**2 * layers, 9 * width * layers, 2 * width * (2 * layers + 1)
    total = weights + biases + norms + (vocabulary + positions) * width
    # Backward reads the kernels, the scales of norms, and the embedding as the head; no biases and no positions.
    backward = weights + norms // 2 + vocabulary * width
    share = 8 * (n - 1) / n
    gathered = result["totals"]["by_kind"]["c_allgather"]["bytes"]
    reduced = result["totals"]["by_kind"]["c_reducescatter"]["bytes"]
    for what, found, expected in (("fetches", gathered, (total + (tied - 1) * vocabulary * width + backward) * share), ("gradients", reduced, total * share)):
        if abs(found - expected) > 1e-6 * expected:
            sys.exit(f"{name}: {what} send {found} bytes, not {expected}")
    print(f"{name}: sends {(gathered + reduced) / (total * share):.3f} times the parameters' share")


def check_error(zero, *messages):
    """An error at the field of the strategy."""
    strategy = folder / "invalid.textproto"
    write_strategy({"dp": 4}, zero, strategy)
    log = run("dist-opt", fixtures / "gpt2-tiny-f64.mlir", f"--strategy={strategy}", "--to=complete", fails=True)
    for message in messages:
        if message not in log:
            sys.exit(f"{message!r} is not in {log}")


DP, TP = {"dp": 4}, {"dp": 2, "tp": 2}
BLOCKS = ("transformer.h.0.in", "transformer.h.0.out", "transformer.h.1.out")
check_volume("volume", check("one segment each", DP), 4, tied=1)
for prefetch in range(4):
    check(f"prefetch {prefetch}", DP, megabytes=0.03, prefetch=prefetch)
check_volume("volume by blocks", check("blocks", DP, anchors=BLOCKS, prefetch=2), 4, tied=2)
check("single operations", DP, megabytes=1e-6, prefetch=3)
check("kept", DP, megabytes=0.05, keep=0.06, prefetch=1)
check("kept for long", DP, megabytes=0.01, keep=100, prefetch=1)
check("kept while there is room", DP, megabytes=0.03, keep=100, max_live=0.1, prefetch=2)
check("bounded", DP, megabytes=0.03, max_live=0.05, prefetch=3)
check("tight", DP, megabytes=0.03, max_live=0.033, prefetch=3)
check("two launches", DP, megabytes=0.01, max_in_flight=2, prefetch=3)
check("one launch", DP, megabytes=0.01, max_in_flight=1, prefetch=3)
for prefetch in range(3):
    check(f"tensor parallel, prefetch {prefetch}", TP, megabytes=0.02, prefetch=prefetch)
check("tensor parallel, blocks", TP, anchors=BLOCKS, max_live=0.2, prefetch=2)
BF16 = "precision { compute: BF16 }"
check("bf16", DP, megabytes=0.01, prefetch=2, train=BF16)
check("bf16, kept", DP, megabytes=0.01, keep=0.02, train=BF16)
check("bf16, bounded", DP, megabytes=0.01, max_live=0.02, prefetch=3, train=BF16)
check("bf16, tensor parallel", TP, megabytes=0.005, train=BF16)

check_error('segment { anchors: "transformer.h.0.out" anchors: "transformer.h.9.out" anchors: "lm_head.on" }',
            "invalid.textproto:5:", 'anchor "lm_head.on" ends in neither ".in" nor ".out"')
check_error('segment { anchors: "transformer.h.0.out" anchors: "transformer.h.9.out" anchors: "x.in" }', "invalid.textproto:5:",
            'anchor "transformer.h.9.out" is entered 0 times forward and 0 times backward, not once each; what remains is "transformer.h.9.out", "x.in"')
check_error('segment { anchors: "transformer.h.0.attn\\\\.setup.out" }', "invalid.textproto:5:", "is entered 1 times forward and 0 times backward")
check_error("max_live_megabytes: 0.1", "invalid.textproto:5:",
            "segment 0 (forward) uses 232.7 kB of parameters by itself but at most 100.0 kB may be alive")
print("errors: located")

# CHECK: one segment each: 2 segments, 42 fetches, 0 kept, at most 1 ahead
# CHECK: volume: sends 2.957 times
# CHECK: prefetch 3: 21 segments, 43 fetches, 0 kept, at most 3 ahead
# CHECK: volume by blocks: sends 3.064 times
# CHECK: kept: 15 segments, 39 fetches, 4 kept
# CHECK: bounded: 21 segments, 43 fetches, 0 kept, at most 2 ahead
# CHECK: one launch: {{.*}} at most 0 ahead
# CHECK: tensor parallel, blocks: 8 segments
# CHECK: bf16: {{.*}} segments
# CHECK: errors: located
