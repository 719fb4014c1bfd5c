# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports whole training steps of PyTorch, with its own backward pass and optimizers: `torch_steps.py FOLDER`.

torch-OPTIMIZER-step.mlir                  forward, backward and update of a small network of convolutions and an embedding, in f64
reference/torch-OPTIMIZER-step*            the state before, and `losses` of 5 steps and the state after them, by PyTorch
reference/torch-step-tiny-f64/batchN*      the inputs of each step

Needs the packages of requirements-torch.txt.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
import meshwright.torch  # noqa: E402
from meshwright.torch import _tensors  # noqa: E402

STEPS, BATCH, CLASSES = 5, 8, 5


class Cubed(torch.autograd.Function):
    """A backward of its own, which is no derivative: twice the cotangent at negative numbers."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return torch.where(x < 0, 2 * g, 3 * x * x * g)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)
        self.second = torch.nn.Conv2d(4, 6, 2, dilation=2, groups=2)
        self.words = torch.nn.Embedding(7, 6, padding_idx=0)
        self.scale = torch.nn.LayerNorm(6)
        self.head = torch.nn.Linear(6, CLASSES)

    def forward(self, x, ids):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2, 1)
        x = Cubed.apply(self.second(x)).mean((2, 3)) + self.words(ids).sum(1)
        return self.head(F.gelu(self.scale(x)))


def draw(generator):
    numbers = lambda high, *shape: torch.randint(0, high, shape, generator=generator)
    return {"x": torch.randn(BATCH, 2, 9, 9, generator=generator), "ids": numbers(7, BATCH, 3), "target": numbers(CLASSES, BATCH)}


OPTIMIZERS = {
    "adamw": lambda network: torch.optim.AdamW([
        {"params": [each for each in network.parameters() if each.dim() > 1]},
        {"params": [each for each in network.parameters() if each.dim() == 1], "weight_decay": 0, "lr": 2e-3}], lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1),
    "adam": lambda network: torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=0.05),
    "momentum": lambda network: torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=0.01),
}


def state_of(network, optimizer):
    """The values of all variables by the names of the graph."""
    values = dict(network.named_parameters()) | dict(network.named_buffers())
    for name, parameter in network.named_parameters():
        for kind, value in optimizer.state[parameter].items():
            values["step" if kind == "step" else f"{kind}.{name}"] = value.long() if kind == "step" else value
    return values


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_default_dtype(torch.float64)
    generator = torch.Generator().manual_seed(5)
    batches = [draw(generator) for _ in range(STEPS)]
    reference = folder / "reference"
    (reference / "torch-step-tiny-f64").mkdir(parents=True, exist_ok=True)
    for step, batch in enumerate(batches):
        _tensors.save(reference / "torch-step-tiny-f64" / f"batch{step}.safetensors", batch)
    for name, make in OPTIMIZERS.items():
        torch.manual_seed(6)
        network = Network()
        optimizer = make(network)
        first = batches[0]
        exported = meshwright.torch.export(network, (first["x"], first["ids"]), F.cross_entropy, targets={"target": first["target"]}, backward="torch", optimizer=optimizer)
        (folder / f"torch-{name}-step.mlir").write_text(exported.text)
        _tensors.save(reference / f"torch-{name}-step.init.safetensors", exported.state)
        losses = []
        for batch in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(network(batch["x"], batch["ids"]), batch["target"])
            loss.backward()
            losses.append(loss.detach())
            optimizer.step()
        values = state_of(network, optimizer)
        kept = {key: values[key] for key in exported.state if key in values}
        _tensors.save(reference / f"torch-{name}-step.safetensors", {"losses": torch.stack(losses)} | kept)
        print(name, len(exported.text), len(kept), *(f"{loss:.12f}" for loss in losses))


if __name__ == "__main__":
    main()
