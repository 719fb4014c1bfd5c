# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""The values of scopes that a strategy fetches come from all stages of a pipeline, for the whole batch: they are exactly those of the serial program,
and in floats those of a package for one rank. dist-verify proves the packages, in which the first micro-batch reads nothing of an earlier step.

With data parallelism, backward in halves, micro-batches by GPipe, a network whose mask is data, and slices of a batch without stages.
"""
import json
import pathlib
import sys

import case
import plain_safetensors

BOTH = ["forward", "backward"]
CASES = [("gpt2", "pp2xdp2+micro4", BOTH), ("gpt2", "pp2+micro4-zb_h1", BOTH), ("llama", "pp2xtp2+micro4-gpipe", BOTH), ("bert", "pp2xdp2+micro4", BOTH),
         ("gpt2", "dp2+slices4", ["forward"])]


def compile_case(folder, network, mesh, parts):
    package = folder / f"{network}-{mesh}"
    fetched = " ".join(f'fetch: "{part}/*"' for part in parts)
    (folder / "strategy.textproto").write_text(case.make_strategy(case.NETWORKS[network], mesh, "sgd").replace('fetch: "grad/*"', fetched))
    case.run("dist-opt", case.FIXTURES / f"{network}-tiny-f64.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={package}", "--quiet",
             "--target=x86-64-v3", "--target=exact")
    return package


def run_floats(folder, package, network):
    reference = case.FIXTURES / "reference" / f"{network}-tiny-f64"
    case.run("dist-run", package, f"--init={reference}/init.safetensors", f"--feed={reference}/batch0.safetensors", f"--outputs={folder}/outputs.safetensors", "--quiet")
    return plain_safetensors.read(folder / "outputs.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for network, mesh, parts in CASES:
        package = compile_case(folder, network, mesh, parts)
        report = json.loads(case.run("dist-verify", package, "--json"))
        if not report["ok"] or any(program["assumed"] for program in report["programs"]):
            sys.exit(f"{package} is refused, or reads what an earlier step has left: {report}")
        case.run("dist-run", package, "--check-exact", "--quiet")
        found, expected = (run_floats(folder, each, network) for each in (package, compile_case(folder, network, "serial", parts)))
        scopes = [name for name in expected if name.startswith(("forward/", "backward/"))]
        if len(scopes) < 10 or found.keys() != expected.keys():
            sys.exit(f"{package} returns {sorted(found)}, the serial package {sorted(expected)}")
        case.compare(f"{network} {mesh}", found, expected, 1e-9, 1e-12)


if __name__ == "__main__":
    main()
