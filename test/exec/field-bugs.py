# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Mistakes that distributed training systems have had, each rebuilt in a partitioned program, a package or a checkpoint: every one is found, by the
gates, by dist-verify, by dist-run --check-exact against the serial program of the right package, by --check-replicas, or when the
checkpoint is read. Prints the table of docs/reference/verify.md, which has to be there."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy

sys.path.insert(0, os.path.dirname(__file__))
import case
import plain_safetensors

DOCUMENT = case.FIXTURES.parent.parent / "docs" / "reference" / "verify.md"
# Edits of the module between Optimize and Schedule, by the network, mesh and optimizer that they are made in.
GPT2, EXPERTS, PLAIN = ("gpt2", "dp2xtp2+sequence", "clip"), ("mixture", "dp2xep2", "sgd"), ("gpt2", "dp2xtp2", "sgd")
EXTRA = {EXPERTS: 'place { match: "*.mlp.up.kernel" dims: "[ep, -, -]" } place { match: "*.mlp.down.kernel" dims: "[ep, -, -]" }\n'}
COLLECTIVE = r"^ *(?P<result>%\w+) = dist\.{kind} (?P<operand>%\w+) axes (?P<axes>\[[^]]*\]) from .*$"


def call(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def expect(condition, what):
    if not condition:
        sys.exit(what)


def search(text, pattern):
    """The only place, or the first of several, or an error."""
    found = re.search(pattern, text, re.M)
    expect(found, f"nothing in the module is like {pattern}")
    return found


def split(text, found):
    """What stands before, in and after the line of a match."""
    begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end()) + 1
    return text[:begin], text[begin:end], text[end:]


def rename(text, old, new):
    return re.sub(re.escape(old) + r"\b", new, text)


def find_collective(text, kind, more=""):
    return search(text, COLLECTIVE.replace("{kind}", kind).replace("from .*", f"from .*{more}.*"))


def find_gradient(text, name):
    """The first reduction of a gradient."""
    gradient = search(text, rf'^ *(%\w+) = net\.[^\n]*net\.name = "grad/{name}"')
    return search(text[gradient.start():], r"(?P<result>%\w+) = dist\.c_(?:allreduce|reducescatter) " + re.escape(gradient.group(1)) + r" axes (?P<axes>\[[^]]*\]) from (?P<from><.*?>) to .*"), gradient


def take_for_whole(text):
    found = find_collective(text, "c_allreduce", r"partial = sum \[\"tp\"\]")
    head, _, tail = split(text, found)
    return head + rename(tail, found["result"], found["operand"])


def norm_of_partial(text):
    """The square of the norm takes the gradient from before its reduction."""
    square = search(text, r"net\.multiply (%\w+), \1 \{[^\n]*role<optimize>")
    reduced = search(text, rf"^ *{square.group(1)} = dist\.c_allreduce (%\w+) ")
    head, line, tail = split(text, square)
    return head + rename(line, square.group(1), reduced.group(1)) + tail


def bias_per_rank(text):
    found = search(text, r"^ *(?P<result>%\w+) = dist\.c_allreduce (?P<operand>%\w+) axes \[\"tp\"\][^\n]*\n(?P<between>(?:[^\n]*\n){0,6}?) *(?P<sum>%\w+) = net\.add (?P=result), (?P<bias>%\w+) (?P<rest>[^\n]*)")
    line = text[found.start():text.find("\n", found.start()) + 1]
    early = f"    %early = net.add {found['operand']}, {found['bias']} {found['rest']}\n"
    late = rename(rename(line, found["result"], found["sum"]), found["operand"], "%early")
    return text[:found.start()] + found["between"] + early + late + rename(text[found.end() + 1:], found["result"], found["sum"])


def scalar_per_rank(text):
    """What every rank has is added to a sum over ranks."""
    found = search(text, r"^ *(?P<result>%\w+) = dist\.to_partial (?P<operand>%\w+) [^\n]*role<optimize>")
    head, _, tail = split(text, found)
    return head + rename(tail, found["result"], found["operand"])


def reduced_twice(text):
    found = find_collective(text, "c_allreduce", r"partial = sum \[\"dp\"\][^\n]*role<backward>")
    head, line, tail = split(text, found)
    again = rename(rename(line, found["result"], "%again"), found["operand"], found["result"])
    return head + line + again + rename(tail, found["result"], "%again")


def axis_too_few(text):
    found = find_collective(text, "c_allreduce", r"partial = sum \[\"dp\", \"tp\"\][^\n]*role<backward>")
    head, line, tail = split(text, found)
    return head + line.replace('["dp", "tp"]', '["dp"]') + tail


def wrong_divisor(text):
    """The mean over the batch divides by the size of another group."""
    found = search(text, r"net\.divide %\w+, (%\w+) [^\n]*role<forward>[^\n]*: tensor<f64>")
    constant = search(text, rf"^ *{found.group(1)} = net\.constant [^\n]*dense<(\S+)> : tensor<f64>")
    return text[:constant.start(1)] + f"{2 * float(constant.group(1)):e}" + text[constant.end(1):]


def expert_gradient(text):
    found, _ = find_gradient(text, r"p\.[^\"]*mlp\.up\.kernel")
    place = text.find(found.group(0))
    end = text.find("\n", place) + 1
    kind = found.group(0).rsplit("-> ", 1)[1]
    twice = f"    %scaled = net.add {found['result']}, {found['result']} : {kind}\n"
    return text[:end] + twice + rename(text[end:], found["result"], "%scaled")


def copy_thrown_away(text):
    found = find_collective(text, "c_allreduce", r"partial = sum \[\"dp\"\][^\n]*role<backward>")
    head, line, tail = split(text, found)
    return head + line + rename(tail, found["result"], found["operand"])


def dead_loss(text):
    """A contribution to a gradient, as that of an auxiliary loss, is left out."""
    found = search(text, r"^ *(%\w+) = net\.add (%\w+), %\w+ \{[^\n]*role<backward>, net\.scope = \"transformer\.h\.0\"")
    head, _, tail = split(text, found)
    return head + rename(tail, found.group(1), found.group(2))


def split_without_moving(text):
    """Each rank takes the first part for its own, as if a reshape had split the dimension."""
    found = search(text, r"^ *(?P<result>%\w+) = dist\.c_reducescatter (?P<operand>%\w+) axes (?P<axes>\S+) from (?P<from><.*>) to <[^\n]*> shape (?P<shape>\[[^]]*\]) [^\n]*: (?P<before>\S+) -> (?P<after>tensor<(?P<local>[0-9x]+)xf64>)$")
    limits = found["local"].replace("x", ", ")
    zeros, ones = (", ".join([digit] * len(limits.split(", "))) for digit in "01")
    whole = found["from"].split(", partial")[0] + ">"
    lines = f"""    %whole = dist.c_allreduce {found['operand']} axes {found['axes']} from {found['from']} to {whole} shape {found['shape']} : {found['before']} -> {found['before']}
    {found['result']} = net.slice %whole starts = [{zeros}] limits = [{limits}] steps = [{ones}] : {found['before']} -> {found['after']}
"""
    head, _, tail = split(text, found)
    return head + lines + tail


def uneven_digits(text):
    """What lies beyond an uneven part takes part."""
    found = search(text, r"^ *(?P<result>%\w+) = dist\.mask (?P<operand>%\w+) [^\n]*fill 0xFFF0000000000000 ")
    head, _, tail = split(text, found)
    return head + rename(tail, found["result"], found["operand"])


def other_dimension(text):
    """Gathered along one dimension, concatenated along another."""
    found = search(text, r"^ *(?P<result>%\w+) = dist\.c_allgather (?P<operand>%\w+) axes \[\"tp\"\] from <dims = \[\[\"dp\"\], \[\"tp\"\], \[\]\]> [^\n]*shape \[(?P<b>\d+), (?P<s>\d+), (?P<c>\d+)\][^\n]*: tensor<(?P<lb>\d+)x(?P<ls>\d+)x(?P=c)xf64> -> (?P<to>\S+)$")
    b, s, c, lb, ls = (int(found[name]) for name in ("b", "s", "c", "lb", "ls"))
    lines = f"""    %turned = net.reshape {found['operand']} : tensor<{lb}x{ls}x{c}xf64> -> tensor<{lb}x{c}x{ls}xf64>
    %gathered = dist.c_allgather %turned axes ["tp"] from <dims = [["dp"], [], ["tp"]]> to <dims = [["dp"], [], []]> shape [{b}, {c}, {s}] : tensor<{lb}x{c}x{ls}xf64> -> tensor<{lb}x{c}x{s}xf64>
    {found['result']} = net.reshape %gathered : tensor<{lb}x{c}x{s}xf64> -> {found['to']}
"""
    head, _, tail = split(text, found)
    return head + lines + tail


def clip_without(text):
    """The norm leaves out the gradients of some parameters."""
    found = search(text, r"^ *(%\w+) = net\.add (%\w+), %\w+ \{dist\.defer_reduction, [^\n]*role<optimize>")
    head, _, tail = split(text, found)
    return head + rename(tail, found.group(1), found.group(2))


def tied_twice(text):
    """The contribution of one of two uses of a weight is added to the sum of both."""
    found = search(text, r'^ *(?P<result>%\w+) = net\.scatter add (?P<operand>%\w+), [^\n]*net\.name = "grad/p\.transformer\.wte\.embedding"[^\n]* -> (?P<type>\S+)$')
    head, line, tail = split(text, found)
    return head + line + f"    %counted = net.add {found['result']}, {found['operand']} : {found['type']}\n" + rename(tail, found["result"], "%counted")


EDITS = [("partial value taken for a replicated one", PLAIN, take_for_whole),
         ("norm of a partial value", GPT2, norm_of_partial),
         ("bias added to a partial value once per rank", PLAIN, bias_per_rank),
         ("scalar added to a partial value once per rank", GPT2, scalar_per_rank),
         ("gradient reduced twice", GPT2, reduced_twice),
         ("gradient reduced over an axis too few", GPT2, axis_too_few),
         ("mean by the size of another group", GPT2, wrong_divisor),
         ("gradients of experts times the size of their axis", EXPERTS, expert_gradient),
         ("all-reduce of a copy that is thrown away", GPT2, copy_thrown_away),
         ("dead auxiliary loss", GPT2, dead_loss),
         ("reshape that claims a split without moving data", GPT2, split_without_moving),
         ("uneven digits", GPT2, uneven_digits),
         ("gathered along one dimension, concatenated along another", GPT2, other_dimension),
         ("norm for clipping without some parameters", GPT2, clip_without),
         ("tied weight counted twice", GPT2, tied_twice)]


class Field:
    def __init__(self, folder):
        self.folder = folder
        self.modules, self.found = {}, []

    def prepare(self, base):
        """The module of a network, once, and its right package."""
        if base in self.modules:
            return self.modules[base]
        network, mesh, optimizer = base
        name = "-".join(base)
        strategy, graph = self.folder / f"{name}.textproto", case.FIXTURES / f"{network}-tiny-f64.mlir"
        strategy.write_text(case.make_strategy(case.NETWORKS[network], mesh, optimizer) + EXTRA.get(base, ""))
        options = [f"--strategy={strategy}", "--target=exact", "--quiet", f"--kernel-cache={self.folder}/cache"]
        case.run("dist-opt", graph, f"--emit={self.folder}/{name}", *options)
        case.run("dist-opt", graph, f"--strategy={strategy}", "--to=optimize", "--quiet", "-o", self.folder / "module.mlir")
        self.modules[base] = (self.folder / "module.mlir").read_text(), self.folder / name, options
        # The module as it is has no mistake.
        expect(self.judge(self.modules[base][0], base) is None, f"{name} as it is is refused")
        return self.modules[base]

    def judge(self, text, base):
        """Which check refuses the module."""
        _, right, options = self.modules[base]
        (self.folder / "module.mlir").write_text(text)
        compiled = call("dist-opt", self.folder / "module.mlir", "--from=schedule", f"--emit={self.folder}/wrong", *options)
        if compiled.returncode != 0:
            expect("error: " in compiled.stdout and "expected" not in compiled.stdout, f"an edit is no module: {compiled.stdout}")
            return "gates"
        verified = json.loads(call("dist-verify", self.folder / "wrong", "--json").stdout)
        if not verified["ok"] or any(program["unread"] for program in verified["programs"]):
            return "`dist-verify`"
        checked = call("dist-run", self.folder / "wrong", "--check-exact=3", f"--exact-reference={right}")
        expect(checked.returncode == 0 or "differ from the serial program" in checked.stdout, checked.stdout)
        return "`--check-exact`" if checked.returncode else None

    def check_edits(self):
        for name, base, edit in EDITS:
            text = self.prepare(base)[0]
            edited = edit(text)
            expect(edited != text, f"{name}: the edit changes nothing")
            self.found.append((name, self.judge(edited, base)))

    def check_found_inf(self):
        """Of four ranks those of one group alone see an overflow, and leave their update out."""
        strategy = self.folder / "f16.textproto"
        strategy.write_text(case.make_strategy(case.NETWORKS["mlp"], "dp2xtp2", "sgd").replace("train { ", "train { precision { compute: F16 loss_scale { constant: 32768 } } "))
        graph = self.folder / "mlp-f32.mlir"
        graph.write_text(case.narrow_graph("mlp"))
        case.run("dist-opt", graph, f"--strategy={strategy}", "--to=optimize", "--quiet", "-o", self.folder / "module.mlir")
        text = (self.folder / "module.mlir").read_text()
        place = text.find("net.is_finite")
        expect(place >= 0, "nothing looks for overflows")
        found = re.compile(r"^ *(%\w+) = dist\.c_allreduce (%\w+) [^\n]*partial = (?:and|or|min|max) [^\n]*\n", re.M).search(text, place)
        expect(found, "no all-reduce of found_inf")
        (self.folder / "module.mlir").write_text(text[:found.start()] + rename(text[found.end():], found.group(1), found.group(2)))
        case.run("dist-opt", self.folder / "module.mlir", "--from=schedule", f"--strategy={strategy}", f"--emit={self.folder}/wrong", "--quiet")
        if json.loads(call("dist-verify", self.folder / "wrong", "--json").stdout)["ok"]:
            given = plain_safetensors.read(case.FIXTURES / "reference" / "mlp-tiny-f64" / "batch0.safetensors")
            given = {name: array.astype("f4") if array.dtype == "f8" else array for name, array in given.items()}
            init = plain_safetensors.read(case.FIXTURES / "reference" / "mlp-tiny-f64" / "init.safetensors")
            init = {name: array.astype("f4") for name, array in init.items()}
            # The first unit is almost 0, and its gradient beyond f16, which is one of one part of two parameters alone.
            init = {name: array.copy() for name, array in init.items()}
            init["p.layer0.kernel"][:, 0], init["p.layer0.bias"][0], init["p.layer1.kernel"][0, 0] = 0, 2**-14, 6e4
            plain_safetensors.write(self.folder / "batch.safetensors", given)
            plain_safetensors.write(self.folder / "init.safetensors", init)
            ran = call("dist-run", self.folder / "wrong", f"--init={self.folder}/init.safetensors", f"--feed={self.folder}/batch.safetensors", "--steps=2", "--check-replicas=1", "--on-nonfinite=warn")
            expect(ran.returncode == 0 or "differ in element" in ran.stdout, ran.stdout)
            self.found.append(("found_inf of one group alone", "`--check-replicas`" if ran.returncode else None))
        else:
            self.found.append(("found_inf of one group alone", "`dist-verify`"))

    def check_checkpoint(self):
        """The state of an optimizer is not saved."""
        strategy, folder = self.folder / "state.textproto", self.folder / "checkpoint"
        strategy.write_text(case.make_strategy(case.NETWORKS["mlp"], "dp2", "adamw"))
        case.run("dist-opt", case.FIXTURES / "mlp-tiny-f64.mlir", f"--strategy={strategy}", f"--emit={self.folder}/state", "--quiet", "--no-serial")
        reference = case.FIXTURES / "reference" / "mlp-tiny-f64"
        command = ["dist-run", self.folder / "state", f"--init={reference}/init.safetensors", f"--feed={reference}/batch0.safetensors", "--quiet", f"--checkpoint={folder}"]
        case.run(*command, "--steps=1", "--save-every=1")
        index = next(folder.glob("step-*/index.json"))
        content = json.loads(index.read_text())["content"]
        removed = next(variable for variable in content["variables"] if not variable["name"].startswith("p."))
        content["variables"].remove(removed)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        index.write_text(json.dumps({"meshwright_checkpoint": 1, "checksum": f"crc32c:{compute_checksum(text.encode()):08x}", "content": content}))
        resumed = call(*command, "--steps=2", "--resume")
        expect(resumed.returncode == 0 or removed["name"] in resumed.stdout, resumed.stdout)
        self.found.append(("state left out of a checkpoint", "`--resume`" if resumed.returncode else None))

    def report(self):
        lines = ["| bug | found by |", "|---|---|", *(f"| {name} | {how or 'none'} |" for name, how in self.found)]
        table = "\n".join(lines)
        print(table)
        expect(all(how for _, how in self.found), "a mistake is found by none")
        expect(table in DOCUMENT.read_text(), f"{DOCUMENT} has another table")


def compute_checksum(data):
    """CRC-32C, bit by bit."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    field = Field(folder)
    field.check_edits()
    field.check_found_inf()
    field.check_checkpoint()
    field.report()


if __name__ == "__main__":
    main()
