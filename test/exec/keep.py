# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that a step in slices whose fetched parameters are kept (`zero { keep: STEP }`) sends the fetches of one slice, has the bits of a
step that fetches in every slice, and takes no more persistent memory than what it keeps.

Bytes of fetches follow from a closed form; the plan's are those that a run notes. `pipeline { keep: STEP }` on an axis of size 1 is the same.
"""
import json
import math
import pathlib
import re
import sys

from commands import run

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
RANKS, SLICES = 2, 4
STRATEGY = """mesh {{ axes {{ name: "dp" size: 2 }} axes {{ name: "pp" size: 1 }} }}
model {{ parameters: "p.*" {batch} }}
train {{ adamw {{ lr {{ constant: 1e-3 }} }} {train} }}
data {{ axes: "dp" }}
zero {{ axes: "dp" stage: 3 {zero} }}
{more}
"""
SLICED = f"gradient_accumulation {{ slices: {SLICES} }}"
KEEP = "keep: STEP"
INPUTS = {"mlp": ["x", "y"], "scan-gpt": ["ids"]}
# Per case the network, what train has, what zero has beside keep, the rest of the strategy, whether pipeline keeps, and the bytes of an element that travels.
CASES = {
    "slices": ("mlp", SLICED, "", "", False, 8),
    "bf16": ("mlp", SLICED + " precision { compute: BF16 }", "", "eval { every: 1 }", False, 2),
    "merge": ("mlp", "gradient_accumulation { slices: 2 steps: 3 }", "", "", False, 8),
    "every": ("mlp", "gradient_accumulation { slices: 2 reduce: EVERY_STEP }", "segment { megabytes: 0.001 }", "", False, 8),
    "whole": ("mlp", SLICED, "ownership: WHOLE", "", False, 8),
    "scan": ("scan-gpt", SLICED, "", "", False, 8),
    "host": ("mlp", SLICED, "", 'offload { match: "p.*" }', False, 8),
    "pipeline": ("mlp", "", "", f'pipeline {{ axis: "pp" micro_batches: {SLICES} %s }}', True, 8),
    "one slice": ("mlp", "", "", "", False, 8),
}


def get_steps(name):
    """Those of an accumulation, or so many that a parameter that is fetched once is fetched again."""
    return 3 if name == "merge" else 2


def count_fetches(plan):
    return sum(total["bytes"] for kind, total in plan["totals"]["by_kind"].items() if kind in ("c_allgather", "c_broadcast"))


def check_trace(name, folder, plan):
    """Checks that the bytes fetched by all ranks in a run are those of the plan in every step."""
    noted = sum(event["args"]["bytes"] for event in json.loads((folder / "trace.json").read_text())["traceEvents"]
                if event["name"].split()[0] in ("c_allgather", "c_broadcast") and "bytes" in event.get("args", {}))
    planned = count_fetches(plan) * RANKS * get_steps(name)
    if not math.isclose(noted, planned, rel_tol=1e-6):
        sys.exit(f"{name}: a run fetches {noted} bytes, the plan has {planned}")


def train(name, folder, keep):
    """Compiles and runs a case; returns its plan."""
    network, options, zero, more, isPipeline, _ = CASES[name]
    batch = " ".join(f'batch {{ inputs: "{input}" }}' for input in INPUTS[network])
    zero, more = (zero, more % keep) if isPipeline else (f"{zero} {keep}", more)
    (folder / "s.textproto").write_text(STRATEGY.format(batch=batch, train=options, zero=zero, more=more))
    package, reference = folder / "package", FIXTURES / "reference" / f"{network}-tiny-f64"
    run("dist-opt", FIXTURES / f"{network}-tiny-f64.mlir", f"--strategy={folder}/s.textproto", f"--emit={package}", f"--plan={folder}/plan.json", "--quiet")
    evaluation = [f"--eval-feed={reference}/batch0.safetensors"] if "eval" in more else []
    run("dist-run", package, f"--steps={get_steps(name)}", f"--init={reference}/init.safetensors", f"--feed={reference}/batch{{step}}.safetensors",
        f"--save={folder}/{keep[:4]}final.safetensors", f"--metrics={folder}/metrics.jsonl", f"--trace={folder}/trace.json", "--quiet", *evaluation,
        *(["--check-serial"] if keep else []))
    plan = json.loads((folder / "plan.json").read_text())
    check_trace(name, folder, plan)
    losses = [{key: value for key, value in json.loads(line).items() if "loss" in key} for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return plan, losses


def check(name, folder):
    (often, losses), (once, kept_losses) = train(name, folder, ""), train(name, folder, KEEP)
    if (folder / "final.safetensors").read_bytes() != (folder / "keepfinal.safetensors").read_bytes() or losses != kept_losses:
        sys.exit(f"{name}: what is kept has other bits")
    gathered = sum(math.prod(variable["shape"]) for variable in once["variables"] if variable["kind"] == "parameter") * CASES[name][-1]
    found = count_fetches(once)
    if not math.isclose(found, gathered * (RANKS - 1) / RANKS, rel_tol=1e-6):
        sys.exit(f"{name}: a step fetches {found} bytes, not {gathered * (RANKS - 1) / RANKS}")
    growth = once["programs"][0]["persistent_bytes"] - often["programs"][0]["persistent_bytes"]
    # Places are multiples of 64 bytes.
    padding = 64 * len(once["variables"])
    kept = 0 if name == "one slice" else gathered
    if not kept <= growth <= kept + padding * (kept > 0):
        sys.exit(f"{name}: what is kept takes {growth} bytes, not {kept}")
    peak = once["programs"][0]["fetched_peak_bytes"]
    if peak != gathered or once["programs"][0]["memory"]["fetched"] < kept:
        sys.exit(f"{name}: at most {peak} bytes of fetched parameters are alive, not {gathered}")
    slices = max(int(number) for number in re.findall(r"(?:slices|micro_batches): (\d+)", " ".join(map(str, CASES[name])) + " slices: 1"))
    if not slices * found < count_fetches(often):
        sys.exit(f"{name}: {found} bytes are fetched where they are kept, {count_fetches(often)} where not")
    print(f"{name}: {count_fetches(often):.0f} bytes are fetched in every slice, {found:.0f} once, for {growth} bytes of memory")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        check(name, folder)


if __name__ == "__main__":
    main()
