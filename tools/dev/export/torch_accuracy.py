# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how far gradients in f32 are from exact ones: `torch_accuracy.py [NETWORK ...] [--seeds N]`.

Prints for each network of torch_networks.py, and weights of N seeds, the largest distance of a gradient from PyTorch's in f64: that of PyTorch in
f32, that of Meshwright, and the distance between the two. A distance is that of a tensor relative to its norm, or to a thousandth of the norm of
all gradients if that is more. Needs a build, and the packages of requirements-torch.txt.
"""
import argparse
import copy
import pathlib
import tempfile
import warnings

import numpy
import torch

from torch_networks import NETWORKS, doubles, draw_weights, export, inputs_of, loss_of

import meshwright


def find_gradients(model, batch):
    model.zero_grad()
    loss_of(model, batch).backward()
    return {name: parameter.grad.double().numpy() for name, parameter in model.named_parameters() if parameter.grad is not None}


def measure(found, exact):
    """The largest distance of a tensor, and the name of that one."""
    floor = 1e-3 * sum(numpy.sum(value**2) for value in exact.values()) ** 0.5
    norm = numpy.linalg.norm
    return max((norm((found[name] - value).ravel()) / max(norm(value.ravel()), floor), name) for name, value in exact.items())


def compare(name, seed, folder):
    """The distances of PyTorch and of Meshwright from the exact gradients, and between them."""
    generator = torch.Generator().manual_seed(seed)
    model, draw = NETWORKS[name]()
    model = model.train()
    draw_weights(model, generator)
    batch = draw(generator)
    exported = export(copy.deepcopy(model), batch, folder / name)
    if name == "mixtral":
        # PyTorch multiplies groups in 32 and 16 bits alone.
        model.set_experts_implementation("eager")
    wide = {key: value.double() if value.is_floating_point() else value for key, value in batch.items()}
    with doubles():
        exact = find_gradients(copy.deepcopy(model).double(), wide)
    theirs = find_gradients(model, batch)
    parameters = [variable for variable in exported.state if variable in exact]
    strategy = {"model": {"parameters": parameters, "batch": {"inputs": list(exported.inputs)}}, "train": {"sgd": {"lr": {"constant": 0.1}}},
                "fetch": ["grad/*"]}
    session = meshwright.Session(meshwright.compile(exported.text, strategy), init={key: value.detach() for key, value in exported.state.items()})
    outputs = session.step(inputs_of(batch, exported))
    ours = {variable: outputs[f"grad/{variable}"].astype(float) for variable in exact}
    return measure(theirs, exact), measure(ours, exact), measure(ours, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.networks:
            found = [compare(name, seed, pathlib.Path(folder)) for seed in range(1, arguments.seeds + 1)]
            for title, entries in zip(("PyTorch", "Meshwright", "between them"), zip(*found)):
                print(f"{name:10} {title:13}", *(f"{distance:.1e}" for distance, _ in entries), f"largest at {max(entries)[1]}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
