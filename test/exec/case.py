#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles an exported network for a mesh, trains it, and compares with the serial program and with JAX.

usage: case.py NETWORK MESH[+sequence][+novocab][+contiguous][+zeroSTAGE[whole|order][-AXIS.AXIS]][+before|+after][+merge4[every]][+slices4[every]][+micro4[-SCHEDULE[-CHUNKS]]] [--optimizer=adamw] [--steps=N] [--no-optimize] [--again] [--gpu=TARGET]

NETWORK is gpt2, bert, llama, opt, t5, mixture, scan-gpt, lstm, mlp, resnet, vit, torch-gpt2, torch-llama, torch-vit, torch-t5, torch-mixtral, torch-resnet (of PyTorch),
tensorflow, gpt2-dropout or gpt2-rbg: tiny and in f64, unless --graph and --reference name other files (tools/dev/export makes them). MESH is like `dp2`, `tp4`, `dp2xtp2`, `dp2xep2xtp2` or `serial`; all axes
but `tp` split the batch.

  +zero3-dp        shards the parameters over `dp` (FSDP)
  +zero1whole      gives every variable an owner among all data axes
  +before, +after  the factor of the mean over the axes of the batch is applied to the gradients, before or after their reduction
  +merge4          accumulates gradients over four steps, compared with optax.MultiSteps over three updates; +merge4every reduces in every step
  +slices4         processes the batch of a rank in four slices
  +micro4-zb_v-2   sends four micro-batches through the pipeline over axis `pp`, with schedule zb_v and two chunks per rank
  +keep            fetches parameters once per step, by each stage of a pipeline or in the first slice

The programs are compared in exact arithmetic (`dist-run --check-exact`), and every step by `--check-serial`. All gradients after the first step, and all variables and losses after the last one (after 3
steps, 5 for those of PyTorch, 20 for the optimizers in LONG), are compared with those of JAX and optax, or PyTorch, for the same graph (test/fixtures/reference). With --again the
run is repeated and has to have the same bits. With --gpu=TARGET ranks compute on GPUs, or with TARGET `emulated` on their emulation.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy

TOLERANCE = 1e-11
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"

# Per network: its inputs, what bounds the norm of its gradients, and which dimension of which parameters tensor parallelism splits: (glob, dim, groups, of the vocabulary).
NETWORKS = {
    "gpt2": {
        "inputs": ["ids"],
        "bound": 1.2, "merged_bound": 0.7,
        "splits": [("*.attn.c_attn.kernel", 0, 3, False), ("*.attn.c_attn.bias", 0, 3, False),
                   ("*.attn.c_proj.kernel", 1, 1, False), ("*.mlp.c_fc.kernel", 0, 1, False),
                   ("*.mlp.c_fc.bias", 0, 1, False), ("*.mlp.c_proj.kernel", 1, 1, False),
                   ("*.wte.embedding", 0, 1, True)],
    },
    "bert": {
        "inputs": ["ids", "mask", "labels"],
        "splits": [("*.attention.self.?.kernel", 1, 1, False), ("*.attention.self.?.bias", 0, 1, False),
                   ("*.attention.output.dense.kernel", 0, 1, False), ("*.intermediate.dense.kernel", 1, 1, False),
                   ("*.intermediate.dense.bias", 0, 1, False), ("*.layer.?.output.dense.kernel", 0, 1, False),
                   ("*.word_embeddings.embedding", 0, 1, True), ("*.cls.predictions.bias", 0, 1, True)],
    },
    "llama": {
        "inputs": ["ids"],
        "splits": [("*.attention.?.kernel", 1, 1, False), ("*.attention.o.kernel", 0, 1, False), ("*.mlp.gate.kernel", 1, 1, False),
                   ("*.mlp.up.kernel", 1, 1, False), ("*.mlp.down.kernel", 0, 1, False), ("*.head.kernel", 1, 1, True),
                   ("*.embed.embedding", 0, 1, True)],
    },
    "opt": {
        "inputs": ["ids"],
        "splits": [*[(f"*.{name}_proj.{kind}", 1 - index, 1, False) for name in "qkv" for index, kind in enumerate(("kernel", "bias"))],
                   ("*.out_proj.kernel", 0, 1, False), ("*.fc1.kernel", 1, 1, False), ("*.fc1.bias", 0, 1, False),
                   ("*.fc2.kernel", 0, 1, False), ("*.embed_tokens.embedding", 0, 1, True)],
    },
    "t5": {
        "inputs": ["ids", "mask", "labels"],
        "splits": [("*Attention.?.kernel", 1, 1, False), ("*Attention.o.kernel", 0, 1, False),
                   ("*.relative_attention_bias.embedding", 1, 1, False), ("*.DenseReluDense.wi_?.kernel", 1, 1, False),
                   ("*.DenseReluDense.wo.kernel", 0, 1, False), ("*.lm_head.kernel", 1, 1, True),
                   ("*.shared.embedding", 0, 1, True)],
    },
    "resnet": {"inputs": ["x", "y"], "splits": [("*.head.kernel", 1, 1, True), ("*.head.bias", 0, 1, True)]},
    "unet": {
        "inputs": ["x", "y"],
        "splits": [("*.conv.kernel", 3, 1, False), ("*.norm.*", 0, 1, False), ("*.up.kernel", 3, 1, False), ("*.up.bias", 0, 1, False)],
    },
    "vit": {
        "inputs": ["x", "y"],
        "splits": [("*.attention.attention.*.kernel", 1, 1, False), ("*.attention.attention.*.bias", 0, 1, False),
                   ("*.attention.output.dense.kernel", 0, 1, False), ("*.intermediate.dense.kernel", 1, 1, False),
                   ("*.intermediate.dense.bias", 0, 1, False), ("*.layer.?.output.dense.kernel", 0, 1, False),
                   ("*.classifier.kernel", 1, 1, True), ("*.classifier.bias", 0, 1, True)],
    },
    "scan-gpt": {
        "inputs": ["ids"],
        "splits": [("*.attn.q.kernel", 2, 1, False), ("*.attn.k.kernel", 2, 1, False), ("*.attn.v.kernel", 2, 1, False),
                   ("*.attn.o.kernel", 1, 1, False), ("*.mlp.up.kernel", 2, 1, False), ("*.mlp.up.bias", 1, 1, False),
                   ("*.mlp.down.kernel", 1, 1, False), ("*.wte", 0, 1, True)],
    },
    "lstm": {
        "inputs": ["ids"],
        "splits": [("*.input.kernel", 1, 4, False), ("*.hidden.kernel", 1, 4, False), ("p.bias", 0, 4, False)],
    },
    "mixture": {
        "inputs": ["ids"],
        "splits": [("*.attention.?.kernel", 1, 1, False), ("*.attention.o.kernel", 0, 1, False), ("*.mlp.up.kernel", 0, 1, False),
                   ("*.mlp.down.kernel", 0, 1, False), ("*.head.kernel", 1, 1, True), ("*.embed.embedding", 0, 1, True)],
    },
    "tensorflow": {
        "inputs": ["ids"],
        "splits": [*[(f"*.{name}", 1, 1, False) for name in ("q", "k", "v", "up")], ("*.o", 0, 1, False), ("*.up_bias", 0, 1, False),
                   ("*.down", 0, 1, False), ("*.head", 1, 1, True), ("*.wte", 0, 1, True)],
    },
    "torch-gpt2": {
        "inputs": ["input_ids", "labels"], "model": 'parameters: "transformer.*"', "steps": 5,
        "splits": [("*.attn.c_attn.weight", 1, 3, False), ("*.attn.c_attn.bias", 0, 3, False), ("*.attn.c_proj.weight", 0, 1, False),
                   ("*.c_fc.weight", 1, 1, False), ("*.c_fc.bias", 0, 1, False), ("*.mlp.c_proj.weight", 0, 1, False),
                   ("*.wte.weight", 0, 1, True)],
    },
    "torch-llama": {
        "inputs": ["input_ids", "labels"], "model": 'parameters: "model.*" parameters: "lm_head.*"', "steps": 5,
        "splits": [*[(f"*.{name}_proj.weight", 0, 1, False) for name in ("q", "k", "v", "gate", "up")],
                   *[(f"*.{name}_proj.weight", 1, 1, False) for name in ("o", "down")],
                   ("lm_head.weight", 0, 1, True), ("*.embed_tokens.weight", 0, 1, True)],
    },
    "torch-vit": {
        "inputs": ["pixel_values", "labels"], "model": 'parameters: "vit.*" parameters: "classifier.*"', "steps": 5,
        "splits": [("*.q_proj.*", 0, 1, False), ("*.k_proj.*", 0, 1, False), ("*.v_proj.*", 0, 1, False), ("*.o_proj.weight", 1, 1, False),
                   ("*.mlp.fc1.*", 0, 1, False), ("*.mlp.fc2.weight", 1, 1, False), ("classifier.*", 0, 1, True)],
    },
    "torch-t5": {
        "inputs": ["input_ids", "attention_mask", "labels"],
        "model": 'parameters: "shared.*" parameters: "encoder.*" parameters: "decoder.*"', "steps": 5,
        "splits": [("*Attention.?.weight", 0, 1, False), ("*Attention.o.weight", 1, 1, False), ("*.relative_attention_bias.weight", 1, 1, False),
                   ("*.DenseReluDense.wi_?.weight", 0, 1, False), ("*.DenseReluDense.wo.weight", 1, 1, False), ("shared.weight", 0, 1, True)],
    },
    "torch-mixtral": {
        "inputs": ["input_ids", "labels"], "model": 'parameters: "model.*" parameters: "lm_head.*"', "steps": 5,
        "splits": [*[(f"*.{name}_proj.weight", 0, 1, False) for name in "qkv"], ("*.o_proj.weight", 1, 1, False),
                   ("*.experts.*", 0, 1, False), ("lm_head.weight", 0, 1, True), ("*.embed_tokens.weight", 0, 1, True)],
    },
    "torch-resnet": {
        "inputs": ["x", "labels"], "model": 'parameters: "*.weight" parameters: "*.bias"', "steps": 5,
        "splits": [("fc.*", 0, 1, True)],
    },
    "mlp": {
        "inputs": ["x", "y"],
        "bound": 0.3, "merged_bound": 0.15,
        "splits": [("*.layer0.kernel", 1, 1, False), ("*.layer0.bias", 0, 1, False), ("*.layer1.kernel", 0, 1, False),
                   ("*.layer2.kernel", 1, 1, True), ("*.layer2.bias", 0, 1, True)],
    },
}

# The same with dropout, by threefry and by the generator of bits, whose input `key` is another one in every step.
LIKE = {"gpt2-dropout": "gpt2", "gpt2-rbg": "gpt2"}

OPTIMIZERS = {
    "sgd": "sgd { lr { constant: 0.1 } }",
    "clip": "sgd { lr { constant: 0.1 } } clip { global_norm: BOUND }",
    "momentum": "momentum { lr { constant: 0.1 } momentum: 0.9 }",
    "adam": "adam { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 eps: 1e-8 }",
    "adamw": 'adamw { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 eps: 1e-8 weight_decay: 0.1 decay: "*.kernel" }',
    "torch-adamw": "adamw { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 eps: 1e-8 weight_decay: 0.1 }",
    "lion": "lion { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 weight_decay: 0.1 }",
    "lamb": "lamb { lr { constant: 1e-2 } beta1: 0.9 beta2: 0.95 eps: 1e-6 weight_decay: 0.1 }",
    "rmsprop": "rmsprop { lr { constant: 1e-3 } rho: 0.9 eps: 1e-8 momentum: 0.9 }",
    "adagrad": "adagrad { lr { constant: 1e-2 } }",
    "adafactor": "adafactor { lr { constant: 1e-2 } eps: 1e-10 min_dim: 12 weight_decay: 1e-3 }",
    "muon": "muon { lr { constant: 1e-2 } eps: 1e-6 weight_decay: 0.1 adam_weight_decay: 0.05 }",
    "l2": "adam { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 nesterov: true l2: 0.05 } ema { decay: 0.9 }",
    "groups": 'adamw { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.95 weight_decay: 0.1 } '
              'group { match: "*.bias" lr_scale: 2 weight_decay: 0 } '
              'group { match: "*.layer0.*" sgd { lr { constant: 0.1 } } }',
    "bf16": "sgd { lr { constant: 0.1 } } precision { compute: BF16 }",
    "clip-value": "sgd { lr { constant: 0.1 } } clip { value: 0.01 }",
    "clip-tensor": "sgd { lr { constant: 0.1 } } clip { tensor_norm: 0.1 }",
}
RATES = {"sgd": 0.1, "bf16": 0.1, "clip": 0.1, "momentum": 0.1, "adam": 1e-3, "adamw": 1e-3, "torch-adamw": 1e-3, "lion": 1e-3, "lamb": 1e-2, "rmsprop": 1e-3,
         "adagrad": 1e-2, "adafactor": 1e-2, "muon": 1e-2, "l2": 1e-3, "groups": 1e-3, "clip-value": 0.1, "clip-tensor": 0.1}
# Those whose reference goes over 20 steps, with the same 5 batches over and over.
LONG = {"lion", "lamb", "rmsprop", "adagrad", "adafactor", "muon", "l2", "groups", "clip-value", "clip-tensor"}


def read_safetensors(path):
    """The tensors of a file, by name."""
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    types = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "U8": "u1", "BOOL": "?"}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = numpy.frombuffer(data[begin:end], "<" + types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def find_times(spec, kind):
    """The match of the option for `merge` or `slices`; None where there is none."""
    return next(filter(None, (re.fullmatch(kind + r"(\d+)(every)?", option) for option in spec.split("+"))), None)


def make_strategy(network, spec, optimizer, zero="", model='parameters: "p.*"'):
    """The strategy in protobuf text; without an optimizer that of a step that has its own."""
    mesh, *options = spec.split("+")
    axes = [] if mesh == "serial" else [re.fullmatch(r"([a-z]+)(\d+)", axis).groups() for axis in mesh.split("x")]
    lines = []
    if axes:
        lines.append("mesh { " + " ".join(f'axes {{ name: "{name}" size: {size} }}' for name, size in axes) + " }")
    lines.append(f"model {{ {network.get('model', model)} " +
                 " ".join(f'batch {{ inputs: "{name}" }}' for name in network["inputs"]) + " }")
    merge, slices = find_times(spec, "merge"), find_times(spec, "slices")
    every = any(times and times[2] for times in (merge, slices))
    merging = (" gradient_accumulation {" + (f" steps: {merge[1]}" if merge else "") + (f" slices: {slices[1]}" if slices else "") +
               (" reduce: EVERY_STEP" if every else "") + " }")
    bound = network.get("merged_bound" if merge else "bound")
    update = OPTIMIZERS[optimizer] if optimizer else ""
    lines.append(f"train {{ {update}{merging} }}".replace("BOUND", str(bound)))
    lines.append('fetch: "grad/*"')
    if any(name == "pp" for name, _ in axes):
        micro = next(filter(None, (re.fullmatch(r"micro(\d+)(?:-(\w+))?(?:-(\d+))?", option) for option in options)))
        lines.append(f'pipeline {{ axis: "pp" micro_batches: {micro[1]}' +
                     (f" schedule: {micro[2].upper()}" if micro[2] else "") + (f" chunks: {micro[3]}" if micro[3] else "") +
                     (" keep: STEP" if "keep" in options else "") + " }")
    data = [name for name, _ in axes if name not in ("tp", "pp")]
    if data:
        lines.append("data { " + " ".join(f'axes: "{name}"' for name in data) + " }")
    for option in options:
        if match := re.fullmatch(r"zero(\d)(whole|order)?(?:-([a-z.]+))?", option):
            stage, ownership, group = match.groups()
            group = group.split(".") if group else data
            lines.append("zero { " + " ".join(f'axes: "{name}"' for name in group) + f" stage: {stage}" +
                         (" ownership: WHOLE" if ownership else "") + (" order: IN_ORDER" if ownership == "order" else "") +
                         (" keep: STEP" if "keep" in options and not any(name == "pp" for name, _ in axes) else "") +
                         (" " + zero if zero else "") + " }")
    for scale in ("before", "after"):
        if scale in options:
            lines.append(f"reduce {{ scale: {scale.upper()} }}")
    if any(name == "tp" for name, _ in axes):
        splits = [split for split in network["splits"] if not (split[3] and "novocab" in options)]
        lines.append('tensor { axis: "tp"' + (" sequence: true" if "sequence" in options else ""))
        for glob, dim, groups, _ in splits:
            groups = 1 if "contiguous" in options else groups
            lines.append(f'  split {{ match: "{glob}" dim: {dim} groups: {groups} }}')
        lines.append("}")
    return "\n".join(lines) + "\n"


def narrow_graph(network):
    """The text of a network's graph in f64, in f32."""
    def narrow(found):
        value, = struct.unpack(">d", bytes.fromhex(found.group(1)))
        return "0x" + struct.pack(">f", value).hex().upper()
    text = (FIXTURES / f"{network}-tiny-f64.mlir").read_text().replace("f64", "f32")
    return re.sub(r"\b0x([0-9A-F]{16})\b", narrow, text)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def measure(found, expected, scale, nan_agrees=False):
    """The distance of two arrays of one shape in units of max(|expected|, scale); infinite where one of them has NaN or
    an infinity that the other has not in the same place. NaN in both is a difference too, unless a case says that it agrees."""
    found, expected = (numpy.asarray(array, float).ravel() for array in (found, expected))
    ours, theirs = numpy.isfinite(found), numpy.isfinite(expected)
    if not numpy.array_equal(found[~ours], expected[~ours], equal_nan=nan_agrees) or not numpy.array_equal(ours, theirs):
        return numpy.inf
    distance, size = numpy.linalg.norm(found[ours] - expected[ours]), max(numpy.linalg.norm(expected[ours]), scale)
    if distance == 0:
        return 0.0
    return float(distance / size) if size > 0 else numpy.inf


def compare(what, ours, theirs, scale, tolerance, nan_agrees=False):
    """Compares every tensor of `theirs`; the comparator's rule: |a - b| <= tolerance * max(|b|, scale)."""
    worst, worst_name = 0.0, ""
    for name, expected in theirs.items():
        if name not in ours:
            sys.exit(f"{what}: {name} is missing")
        if ours[name].shape != expected.shape:
            sys.exit(f"{what}: {name} has shape {ours[name].shape}, not {expected.shape}")
        ratio = measure(ours[name], expected, scale, nan_agrees)
        if ratio > worst:
            worst, worst_name = ratio, name
    print(f"{what}: {len(theirs)} compared with the reference, largest difference {worst:.2e} ({worst_name})")
    if not worst <= tolerance:
        sys.exit(f"{what}: {worst_name} differs by {worst:.3e}, allowed is {tolerance:.0e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=[*NETWORKS, *LIKE])
    parser.add_argument("mesh")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--steps", type=int, help="default: those of the reference")
    parser.add_argument("--no-optimize", action="store_true")
    parser.add_argument("--zero", default="", help="further fields of zero")
    parser.add_argument("--again", nargs="?", const="", metavar="COMM",
                        help="run a second time, with other ways between the ranks where they are named, and compare the bits")
    parser.add_argument("--graph", type=pathlib.Path)
    parser.add_argument("--reference", type=pathlib.Path)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--loss-tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--no-serial", action="store_true", help="without the serial program: two do not fit the memory")
    parser.add_argument("--gpu", metavar="TARGET", help="run on GPUs: kernels for sm_90, say, or emulated ones for the stub")
    parser.add_argument("--comm", default="", help="how ranks on GPUs reach each other")
    parser.add_argument("--folder", type=pathlib.Path, help="where packages and results go, and stay")
    arguments = parser.parse_args()
    like = LIKE.get(arguments.network, arguments.network)
    network = NETWORKS[like]
    graph = arguments.graph or FIXTURES / f"{arguments.network}-tiny-f64.mlir"
    reference = arguments.reference or FIXTURES / "reference" / f"{arguments.network}-tiny-f64"
    init = (arguments.reference or FIXTURES / "reference" / f"{like}-tiny-f64") / "init.safetensors"
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "strategy.textproto").write_text(make_strategy(network, arguments.mesh, arguments.optimizer, arguments.zero))
        package = folder / "package"
        passes = ["--no-optimize"] if arguments.no_optimize else []
        passes += [f"--target={arguments.gpu}"] if arguments.gpu else ["--target=x86-64-v3", "--target=exact"]
        run("dist-opt", graph, f"--strategy={folder}/strategy.textproto",
            f"--emit={package}", "--quiet", *passes)
        run("dist-verify", package, "--quiet")
        if not arguments.gpu and not arguments.no_serial:
            run("dist-run", package, "--check-exact", "--quiet")
        merge = find_times(arguments.mesh, "merge")
        last = 20 if arguments.optimizer in LONG else 3 * int(merge[1]) if merge else network.get("steps", 3)
        arguments.steps = arguments.steps or last
        for step in range(arguments.steps):
            (folder / f"batch{step}.safetensors").unlink(missing_ok=True)
            (folder / f"batch{step}.safetensors").symlink_to((reference / f"batch{step % 5}.safetensors").resolve())
        common = ["dist-run", package, f"--init={init}",
                  f"--feed={folder}/batch{{step}}.safetensors", "--quiet"]
        if arguments.gpu:
            common += ["--device=cuda", f"--kernels={arguments.gpu}"]
        common += [f"--comm={arguments.comm}"] if arguments.comm else []
        run(*common, "--steps=1", f"--outputs={folder}/first.safetensors")
        run(*common, f"--steps={arguments.steps}", f"--save={folder}/final.safetensors",
            f"--metrics={folder}/metrics.jsonl", f"--outputs={folder}/outputs.safetensors",
            *([] if arguments.no_serial else ["--check-serial"]))
        gradients = read_safetensors(reference / "gradients.safetensors")
        loss = gradients.pop("loss")
        # Accumulated gradients are known after the last step of an update.
        if not merge:
            first = read_safetensors(folder / "first.safetensors")
            norm = numpy.sqrt(sum(float(numpy.sum(gradient.astype(float)**2)) for gradient in gradients.values()))
            compare("gradients", first, gradients, 1e-3 * norm, arguments.tolerance)
        metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        final = read_safetensors(reference / (arguments.optimizer + (f"-merge{merge[1]}" if merge else "") + ".safetensors"))
        losses, norms = final.pop("losses"), final.pop("norms", None)
        found = numpy.array([step["grad_norm"] for step in metrics if "grad_norm" in step])
        if found.size and len(found) != (arguments.steps // int(merge[1]) if merge else arguments.steps):
            sys.exit(f"there are {len(found)} norms of gradients in {arguments.steps} steps")
        if found.size:
            compare("norms", {"norms": found}, {"norms": norms[:len(found)]}, 0, arguments.tolerance)
        compare("losses", {"losses": numpy.array([step["loss"] for step in metrics])},
                {"losses": losses[:arguments.steps]}, 0, arguments.loss_tolerance)
        if not abs(metrics[0]["loss"] - float(loss)) <= arguments.loss_tolerance * abs(float(loss)):
            sys.exit(f"loss is {metrics[0]['loss']}, not {float(loss)}")
        if arguments.steps == last:
            compare("variables", read_safetensors(folder / "final.safetensors"), final, RATES[arguments.optimizer],
                    arguments.tolerance)
        if arguments.again is not None:
            # The last of two counts.
            second = [*common, f"--comm={arguments.again}"] if arguments.again else common
            run(*second, f"--steps={arguments.steps}", f"--save={folder}/again.safetensors",
                f"--outputs={folder}/outputs-again.safetensors")
            for left, right in (("final", "again"), ("outputs", "outputs-again")):
                if (folder / f"{left}.safetensors").read_bytes() != (folder / f"{right}.safetensors").read_bytes():
                    sys.exit(f"{left} has other bits in a second run")
            print("a second run has the same bits")


if __name__ == "__main__":
    main()
