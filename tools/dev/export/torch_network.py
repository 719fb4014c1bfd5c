# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a network of PyTorch through torchax, and what PyTorch itself makes of it: `torch_network.py FOLDER`.

torch-tiny-f64.mlir                   the loss of a small transformer, as torchax traces the module and JAX prints it
reference/torch-tiny-f64/*            as reference.py writes them, by PyTorch's own derivatives and Adam

Needs torch 2.15, torchax 0.0.13, jax 0.10.2 and safetensors.
"""

import contextlib
import copy
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 61, 16, 4, 2, 12, 8
STEPS_SAVED, STEPS = 3, 5


class Missing:
    """Stands for operations that torchax names and this version of PyTorch has not."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Missing()


@contextlib.contextmanager
def missing_operations():
    """Lets torchax fill its tables, of which operations that are gone are no loss."""
    kinds = torch._ops.OpOverloadPacket, torch._ops._OpNamespace
    found = [kind.__getattr__ for kind in kinds]

    def lenient(strict):
        def get(self, name):
            try:
                return strict(self, name)
            except AttributeError:
                if name.startswith("_"):
                    raise
                return Missing()

        return get

    for kind, strict in zip(kinds, found):
        kind.__getattr__ = lenient(strict)
    try:
        yield
    finally:
        for kind, strict in zip(kinds, found):
            kind.__getattr__ = strict


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        # Without biases, of which that of keys would have a gradient of rounding alone.
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(torch.nn.Module):
    """A GPT whose forward is its loss: the cross entropy of every token but the first."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.h = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight
        for block in self.h:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def export(model):
    """The text of the loss, whose parameters are a tree like the model's."""
    import jax

    with missing_operations():
        import torchax

        torchax.default_env()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")
    states, forward = torchax.extract_jax(model)
    tree = {}
    for name, value in states.items():
        *path, last = name.split(".")
        node = tree
        for key in path:
            node = node.setdefault(key, {})
        node[last] = value

    def flatten(node, prefix=""):
        return {key: leaf for name, child in node.items()
                for key, leaf in (flatten(child, f"{prefix}{name}.") if isinstance(child, dict) else {prefix + name: child}).items()}

    def loss(p, ids):
        return forward(flatten(p), (ids,))

    ids = jax.ShapeDtypeStruct((BATCH, LENGTH), "int64")
    return jax.jit(loss).lower(tree, ids).as_text(debug_info=True)


def named(prefix, tensors):
    return {prefix + name: np.ascontiguousarray(value.detach().numpy()) for name, value in tensors}


def write_reference(model, folder):
    """Trains by Adam and keeps what case.py compares with."""
    rng = np.random.default_rng(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(named("p.", model.named_parameters()), folder / "init.safetensors")
    losses = []
    for step in range(STEPS):
        ids = rng.integers(0, VOCABULARY, (BATCH, LENGTH), dtype="int64")
        save_file({"ids": ids}, folder / f"batch{step}.safetensors")
        optimizer.zero_grad()
        loss = model(torch.from_numpy(ids))
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            gradients = named("grad/p.", ((name, parameter.grad) for name, parameter in model.named_parameters()))
            save_file({"loss": np.asarray(losses[0])} | gradients, folder / "gradients.safetensors")
        optimizer.step()
        if step + 1 == STEPS_SAVED:
            saved = {name: value.copy() for name, value in named("p.", model.named_parameters()).items()}
    save_file({"losses": np.asarray(losses)} | saved, folder / "adam.safetensors")
    print(*(f"{loss:.12f}" for loss in losses))


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    model = Transformer().double()
    # PyTorch's optimizers ask for the device that torchax adds: they come first.
    write_reference(copy.deepcopy(model), folder / "reference" / "torch-tiny-f64")
    text = export(model)
    (folder / "torch-tiny-f64.mlir").write_text(text if text.endswith("\n") else text + "\n")


if __name__ == "__main__":
    main()
