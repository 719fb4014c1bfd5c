#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s --each --ranks=2,4
"""Sends a GPT-2 of 24 blocks through pipelines, and compares two steps with the serial program.

usage: pipelines.py [--each | --sample=N] [--ranks=2,3,4,8] [--order=NAME]

Every published order with 2, 3, 4 and 8 ranks, 1, 2, 4, 7, 8 and 16 micro-batches and 1, 2 and 3 chunks per rank: what is no order has to be refused with the nearest shape that is one, everything else has to
train like the serial program; this takes half an hour. How many are legal is known. --sample takes every Nth of the legal and of the refused ones; --each takes one of either kind
of each order, drawn at random with a fixed seed.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
ORDERS = ["fill_drain", "one_f_one_b", "eager_one_f_one_b", "interleaved", "depth_first", "breadth_first", "zb_h1", "zb_h2", "zb_v",
          "zb_v_half", "zb_v_min", "dual_pipe_v"]
RANKS, MICRO_BATCHES, CHUNKS = (2, 3, 4, 8), (1, 2, 4, 7, 8, 16), (1, 2, 3)
LEGAL, REFUSED = 418, 446
STRATEGY = """
mesh {{ axes {{ name: "pp" size: {ranks} }} }}
model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}
init {{ match: "*.kernel" normal {{ stddev: 0.1 }} }}
init {{ match: "*.embedding" normal {{ stddev: 0.1 }} }}
init {{ match: "*.scale" constant: 1 }}
init {{ match: "*" constant: 0 }}
train {{ momentum {{ lr {{ constant: 0.1 }} momentum: 0.9 }} clip {{ global_norm: 0.5 }} }}
pipeline {{ axis: "pp" micro_batches: {micro} schedule: {order} chunks: {chunks} }}
"""


def call(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)


def write_strategy(folder, order, ranks, micro, chunks):
    path = folder / f"{order}-{ranks}-{micro}-{chunks}.textproto"
    path.write_text(STRATEGY.format(order=order.upper(), ranks=ranks, micro=micro, chunks=chunks))
    return path


def is_legal(shape):
    """True if there is an order of that shape; a refusal has to name another one."""
    order, ranks, micro, chunks = shape
    done = call("dist-schedule", order, f"--ranks={ranks}", f"--micro-batches={micro}", f"--chunks={chunks}", "--csv=-")
    if done.returncode == 0:
        return True
    if done.returncode != 1 or not re.search(r"not \d+", done.stdout):
        sys.exit(f"dist-schedule of {shape} ended with {done.returncode}: {done.stdout}")
    return False


def draw_each(shapes):
    """A legal shape of each order, and one that is refused where there is one."""
    draw = random.Random(3)
    legal, refused = [], []
    for order in sorted({shape[0] for shape in shapes}):
        found = {}
        candidates = [shape for shape in shapes if shape[0] == order]
        while candidates and len(found) < 2:
            shape = candidates.pop(draw.randrange(len(candidates)))
            found.setdefault(is_legal(shape), shape)
        legal.append(found[True])
        refused += [found[False]] if False in found else []
    return legal, refused


def check_refused(folder, shape):
    """The compiler says what `dist-schedule` says, at the strategy's line."""
    done = call("dist-opt", FIXTURES / "gpt2-24-f64.mlir", f"--strategy={write_strategy(folder, *shape)}", "--to=annotate")
    if done.returncode != 1 or ".textproto:" not in done.stdout:
        sys.exit(f"{shape} is not refused as it should be: {done.returncode}\n{done.stdout}")


def train(folder, shape):
    name = "-".join(str(word) for word in shape)
    package = folder / name
    done = call("dist-opt", FIXTURES / "gpt2-24-f64.mlir", f"--strategy={write_strategy(folder, *shape)}",
                f"--emit={package}", "--quiet")
    if done.returncode == 0:
        done = call("dist-run", package, "--steps=2", f"--data=ids={folder}/ids.npy", "--check-serial", "--quiet")
    call("rm", "-rf", package)
    return f"{name}: {done.stdout[-2000:]}" if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)))
    parser.add_argument("--order", choices=ORDERS)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    ranks = [int(number) for number in arguments.ranks.split(",")]
    shapes = [(order, number, micro, chunks) for order in ORDERS if arguments.order in (None, order)
              for number in ranks for micro in MICRO_BATCHES for chunks in CHUNKS]
    if arguments.each:
        legal, refused = draw_each(shapes)
    else:
        legal = [shape for shape in shapes if is_legal(shape)]
        refused = [shape for shape in shapes if shape not in legal]
        if len(shapes) == LEGAL + REFUSED and len(legal) != LEGAL:
            sys.exit(f"{LEGAL} orders are legal, and not {len(legal)}")
    print(f"{len(legal)} orders, {len(refused)} refused")
    chosen = legal[::arguments.sample]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        folder = pathlib.Path(folder)
        numpy.save(folder / "ids.npy", numpy.random.default_rng(7).integers(0, 97, (2 * 112, 8), dtype="i4"))
        for shape in refused[::arguments.sample]:
            check_refused(folder, shape)
        failures = [text for text in pool.map(lambda shape: train(folder, shape), chosen) if text]
    counts = collections.Counter(shape[0] for shape in chosen)
    print(f"{len(chosen) - len(failures)} of {len(chosen)} train like the serial program:", dict(counts))
    for text in failures:
        print(text)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
