# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""dist-run --check-exact finds what a partitioner could get wrong: collectives deleted, doubled, with another reduction or over other axes, a bias
added before a sum, a value added once per rank, a slice that begins elsewhere, another divisor, an update left out. Each is edited into the module between Optimize and Schedule and compared with the serial
program of the right package. So does it where ranks are processes. Wrong uses have an error."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import case

# A network, a mesh, and from how many places of each kind one is taken; all of them with MESHWRIGHT_TEST_ROUNDS.
CASES = [("mlp", "dp2xtp2", 3), ("mlp", "dp2xtp2+merge2", 5), ("gpt2", "dp2xtp2+sequence", 12)]
# Not all of these are mistakes: the sum of a NaN per rank is NaN as that of one, and padding may be zero already.
MAYBE_HARMLESS = ("one addend per rank", "padding not masked")
# Errors of placement, which the gate of Partition refuses without running.
STATIC = ("collective doubled", "other axes", "slice of another axis", "bias before the sum")
COLLECTIVE = re.compile(r'^ *(%\w+) = (dist\.c_\w+) (%\w+) axes (\[[^]]*\]) from .*: (tensor<\S+) -> (tensor<\S+)$', re.M)


def call(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def expect(condition, what):
    if not condition:
        sys.exit(what)


def rename(text, old, new):
    return re.sub(re.escape(old) + r"\b", new, text)


def list_edits(text):
    """Wrong modules, each with the kind of its mistake: pairs of a kind and a function that makes the text."""
    for found in COLLECTIVE.finditer(text):
        result, name, operand, axes, before, after = found.groups()
        line = found.group()
        head, tail = text[:found.start()], text[found.end() + 1:]
        if before == after:
            yield "collective deleted", lambda head=head, tail=tail, result=result, operand=operand: head + rename(tail, result, operand)
        if name == "dist.c_allreduce" and "partial = sum" in line:
            yield "collective doubled", lambda head=head, tail=tail, line=line, result=result, operand=operand: (
                head + line + "\n" + rename(line.replace(f"{result} =", "%again ="), operand, result) + "\n" + rename(tail, result, "%again"))
            yield "maximum for sum", lambda head=head, tail=tail, line=line: head + line.replace("partial = sum", "partial = max") + "\n" + tail
            other = '["dp"]' if "tp" in axes else '["tp"]'
            yield "other axes", lambda head=head, tail=tail, line=line, axes=axes, other=other: head + line.replace(f"axes {axes}", f"axes {other}") + "\n" + tail
            addition = re.search(rf"^( *(%\w+) = net\.add ){re.escape(result)}(, %\w+ .*)$", tail, re.M)
            if addition:
                # result = allreduce(x); sum = result + bias  ->  result = x + bias; sum = allreduce(result)
                yield "bias before the sum", lambda head=head, tail=tail, line=line, result=result, operand=operand, a=addition: (
                    head + tail[:a.start()] + a.group(1).replace(a.group(2), "%early", 1) + operand + a.group(3) + "\n"
                    + rename(line.replace(f"{result} =", f"{a.group(2)} ="), operand, "%early") + "\n" + rename(tail[a.end() + 1:], result, a.group(2)))
    coordinates = re.findall(r"(%\w+) = dist\.coordinate ", text)
    # Masks of positions in range are true everywhere.
    for found in re.finditer(r"dist\.shard %\w+ at\((%\w+)\)(?!.*xi1>$)", text, re.M):
        for other in coordinates:
            if other != found.group(1):
                yield "slice of another axis", lambda found=found, other=other: text[:found.start(1)] + other + text[found.end(1):]
    # A value that every rank has, added to a sum once per rank; what lies beyond an uneven part.
    for name, kind in (("to_partial", "one addend per rank"), ("mask", "padding not masked")):
        for found in re.finditer(rf"^ *(%\w+) = dist\.{name} (%\w+) .*: (tensor<\S+)( -> \3)?\n", text, re.M):
            yield kind, lambda found=found: text[:found.start()] + rename(text[found.end():], found.group(1), found.group(2))
    for found in re.finditer(r"^ *net\.assign @(p\.\S+), .*\n", text, re.M):
        yield "update deleted", lambda found=found: text[:found.start()] + text[found.end():]
    for found in re.finditer(r"net\.divide .*", text):
        divisor = re.search(r"net\.divide %\w+, (%\w+) ", found.group())
        constant = divisor and re.search(rf"{re.escape(divisor.group(1))} = net\.constant .*dense<(\S+)> : tensor<.*f64>", text)
        if constant:
            value = f"{2 * float(constant.group(1)):e}"
            yield "another divisor", lambda constant=constant, value=value: text[:constant.start(1)] + value + text[constant.end(1):]


def check_mistakes(folder, network, mesh, step):
    strategy, graph = folder / "strategy.textproto", case.FIXTURES / f"{network}-tiny-f64.mlir"
    strategy.write_text(case.make_strategy(case.NETWORKS[network], mesh, "adamw"))
    right = folder / "right"
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit={right}", "--target=exact", "--quiet")
    for processes in ([], ["--nproc=4"]):
        expect("exactly those" in case.run("dist-run", right, "--check-exact", *processes), f"{network} {mesh} is not exactly the serial program")
    module = folder / "module.mlir"
    case.run("dist-opt", graph, f"--strategy={strategy}", "--to=optimize", "--quiet", "-o", module)
    text = module.read_text()
    counts = {}
    emit = ["--from=schedule", f"--strategy={strategy}", f"--emit={folder / 'wrong'}", "--target=exact", "--quiet"]
    case.run("dist-opt", module, *emit)
    compare = ["dist-run", folder / "wrong", "--check-exact=3", f"--exact-reference={right}"]
    expect("exactly those" in case.run(*compare), "the module that is not edited differs")
    number = {}
    for kind, make in list_edits(text):
        number[kind] = number.get(kind, -1) + 1
        if number[kind] % step != 0:
            continue
        module.write_text(make())
        tally = counts.setdefault(kind, {"refused": 0, "found": 0, "equal": 0})
        compiled = call("dist-opt", module, *emit)
        if compiled.returncode != 0:
            expect("error: " in compiled.stdout, f"{kind}: {compiled.stdout}")
            tally["refused"] += 1
            continue
        checked = call(*compare)
        expect(checked.returncode == 0 or "differ from the serial program" in checked.stdout, f"{kind}: {checked.stdout}")
        tally["found" if checked.returncode else "equal"] += 1
        if number[kind] == 0:
            apart = call(*compare, "--nproc=4")
            expect((apart.returncode, "differ from the serial program" in apart.stdout) == (checked.returncode, checked.returncode != 0),
                   f"{kind} in processes: {apart.stdout}")
    for kind, tally in counts.items():
        print(f"{network} {mesh}: {kind}: {tally}")
    refused, found = (sum(tally[how] for tally in counts.values()) for how in ("refused", "found"))
    print(f"{network} {mesh}: {refused} of {refused + found} mistakes are refused without running")
    for kind in STATIC:
        if kind in counts:
            expect(counts[kind]["refused"] > 0 and counts[kind]["found"] == 0, f"{network} {mesh}: {kind}: {counts[kind]}; the gate does not refuse all")
    for kind, tally in counts.items():
        expect(tally["equal"] == 0 or kind in MAYBE_HARMLESS, f"{network} {mesh}: {kind}: {tally['equal']} of {sum(tally.values())} are found by none")
    expect(len(counts) >= 6, f"only {list(counts)} occur")


def check_scopes(folder):
    """Values of scopes, fetched, say where programs part: none of the first block differs where the second has a wrong operation."""
    strategy, graph, module = folder / "strategy.textproto", case.FIXTURES / "gpt2-tiny-f64.mlir", folder / "module.mlir"
    fetch = 'fetch: "grad/*" fetch: "forward/*" fetch: "backward/transformer.h.?.mlp.*"'
    strategy.write_text(case.make_strategy(case.NETWORKS["gpt2"], "dp2xtp2", "sgd").replace('fetch: "grad/*"', fetch))
    right, wrong = folder / "right", folder / "wrong"
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit={right}", "--target=exact", "--quiet")
    text = case.run("dist-run", right, "--check-exact")
    expect("28 variables and 66 outputs are exactly those" in text, text)
    case.run("dist-opt", graph, f"--strategy={strategy}", "--to=optimize", "--quiet", "-o", module)
    text = module.read_text()
    line = re.search(r'^ *%\w+ = net\.multiply .*role<forward>, net\.scope = "transformer\.h\.1\.ln_2".*$', text, re.M).group()
    module.write_text(text.replace(line, line.replace("net.multiply", "net.subtract")))
    case.run("dist-opt", module, "--from=schedule", f"--strategy={strategy}", f"--emit={wrong}", "--target=exact", "--quiet")
    found = call("dist-run", wrong, "--check-exact", f"--exact-reference={right}")
    expect(found.returncode == 3 and re.search(r"serial program\n  \"result\" differs.*\n  \"forward/transformer\.h\.1\.ln_2\" differs", found.stdout)
           and "forward/transformer.h.0" not in found.stdout, found.stdout)


def check_errors(folder):
    plain, exact, merged = folder / "plain", folder / "exact", folder / "merged"
    graph, strategy = case.FIXTURES / "mlp-tiny-f64.mlir", folder / "strategy.textproto"
    strategy.write_text(case.make_strategy(case.NETWORKS["mlp"], "dp2", "sgd"))
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit={plain}", "--quiet")
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit={exact}", "--target=exact", "--no-serial", "--quiet")
    strategy.write_text(case.make_strategy(case.NETWORKS["mlp"], "dp2+merge4", "sgd"))
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit={merged}", "--target=exact", "--quiet")
    other = folder / "other.mlir"
    other.write_text(graph.read_text().replace("12x", "14x").replace("x12", "x14"))
    case.run("dist-opt", other, f"--strategy={strategy}", f"--emit={folder}/wide", "--target=exact", "--quiet")
    for arguments, message in (([plain, "--check-exact"], 'the package has no kernels for an exact check; dist-opt makes them with "exact" among its targets'),
                               ([exact, "--check-exact"], "the package has no serial program to compare with"),
                               ([exact, "--check-exact", "--save=x"], "--check-exact trains nothing, so there is nothing for --save=x"),
                               ([exact, f"--exact-reference={plain}"], "is the package that --check-exact compares with"),
                               ([exact, "--check-exact=0"], "--check-exact: 0 is below 1"),
                               ([exact, "--check-exact", "--device=cuda"], "--check-exact is for ranks on CPUs"),
                               ([exact, "--check-exact", f"--exact-reference={folder}/none"], "cannot open"),
                               ([exact, "--check-exact", f"--exact-reference={folder}/right"], "the package to compare with has no variable"),
                               ([exact, "--check-exact", f"--exact-reference={merged}"], "the package accumulates 1 steps into an update, but the one to compare with 4"),
                               ([merged, "--check-exact", f"--exact-reference={folder}/wide"], "f64 in the package to compare with"),
                               ([exact, f"--feed={case.FIXTURES}/reference/mlp-tiny-f64/batch0.safetensors"], "exact (for --check-exact)")):
        wrong = call("dist-run", *arguments)
        expect(wrong.returncode != 0 and message in wrong.stdout, f"{arguments}: {wrong.stdout}")
    # Given inputs, too.
    case.run("dist-run", folder / "right", "--check-exact=1", f"--feed={case.FIXTURES}/reference/gpt2-tiny-f64/batch0.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for network, mesh, step in CASES:
        check_mistakes(folder, network, mesh, 1 if os.environ.get("MESHWRIGHT_TEST_ROUNDS") else step)
    check_scopes(folder)
    check_errors(folder)


if __name__ == "__main__":
    main()
