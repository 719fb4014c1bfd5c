# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that every pass takes any program, as it has to in another compiler: the programs of all passes' tests, and what
each stage makes of real networks, and modules that are not of this compiler. It may refuse with an error; it ends with
status 0 or 1. The latter with every pass, and of the rest a sample, or with `--all` everything.

RUN: %python %s %tmp --sample=40
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "python"))
from commands import PATIENCE, run

FOLDERS = ["dialects", "Import", "Train", "Annotate", "Complete", "Partition", "Optimize", "Schedule", "Emit"]
STAGES = ["import", "train", "annotate", "complete", "partition", "optimize", "schedule"]
TRAIN = "train { adamw { lr { constant: 1e-3 } } clip { global_norm: 1.0 }"
NETWORKS = {
    "mlp-tiny": f'mesh {{ axes {{ name: "dp" size: 2 }} }} data {{ axes: "dp" }} zero {{ axes: "dp" stage: 3 }} {TRAIN} gradient_accumulation {{ steps: 2 }} }}',
    "scan-gpt-tiny-f64": f'mesh {{ axes {{ name: "dp" size: 2 }} }} data {{ axes: "dp" }} {TRAIN} }}',
    "gpt2-tiny": f'mesh {{ axes {{ name: "pp" size: 2 }} axes {{ name: "dp" size: 2 }} }} data {{ axes: "dp" }} {TRAIN} }}'
                 ' pipeline { axis: "pp" micro_batches: 2 schedule: ZB_H1 stages { balanced: COST } }',
}


def get_passes():
    return sorted(set(re.findall(r"^ +--(dist-\w+-[\w-]+)", run("dist-opt", "--help"), re.M)))


def write_stages(folder):
    """Writes the output of every stage for each network to a file and yields the files."""
    for network, strategy in NETWORKS.items():
        inputs = "x" if network == "mlp-tiny" else "ids"
        text = folder / f"{network}.textproto"
        text.write_text(f'model {{ parameters: "p.*" batch {{ inputs: "{inputs}" }} }} {strategy}\n')
        for stage in STAGES:
            program = folder / f"{network}.{stage}.mlir"
            run("dist-opt", ROOT / f"test/fixtures/{network}.mlir", f"--strategy={text}", f"--to={stage}", "-o", program, "--quiet")
            yield program


def try_pass(pair):
    """The failure of a pass on a file; nothing if the pass succeeded or refused the file with an error."""
    name, program = pair
    command = ["dist-opt", str(program), "-split-input-file", "-allow-unregistered-dialect", f"--{name}", "-o", os.devnull]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                              timeout=60 * PATIENCE)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)}\ndoes not end"
    if done.returncode in (0, 1) and not (done.returncode == 1 and "error:" not in done.stderr):
        return None
    return f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr[-2000:]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    amount = parser.add_mutually_exclusive_group(required=True)
    amount.add_argument("--all", action="store_true")
    amount.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    programs = [*write_stages(arguments.folder),
                *sorted(path for folder in FOLDERS for path in (ROOT / "test" / folder).rglob("*.mlir"))]
    passes = get_passes()
    pairs = [(name, program) for name in passes for program in programs]
    if arguments.sample:
        pairs = random.Random(arguments.seed).sample(pairs, arguments.sample)
    pairs += [(name, ROOT / "test/pipeline/Inputs/foreign-programs.mlir") for name in passes]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if arguments.all else 1) as pool:
        wrong = [text for text in pool.map(try_pass, pairs) if text]
    print(f"{len(pairs)} pairs of {len(passes)} passes and {len(programs) + 1} files, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) if wrong or not pairs else 0)


main()
