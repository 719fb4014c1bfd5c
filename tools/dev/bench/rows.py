# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of step_time: networks by name, each a family of jax_networks.py and of torch_networks.py with the same sizes.

Needs no framework, since the program that starts the others reads it too.
"""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Row:
    """A network, the axes along which two ranks divide it, and the weights that tensor parallelism splits: patterns and text of a split."""

    family: str
    sizes: dict[str, Any]
    inputs: tuple[str, ...]
    data: bool = True
    tensor: tuple[tuple[str, str], ...] = ()
    bf16: bool = False
    # Parameters that PyTorch's own module has in addition; they change nothing in what is computed.
    more_in_pytorch: int = 0


GPT2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "sequence": 128, "batch": 4}
GPT2_SPLITS = (("*.wte.embedding", "dim: 0"), ("*.attn.c_attn.*", "dim: 0 groups: 3"), ("*.attn.c_proj.kernel", "dim: 1"),
               ("*.mlp.c_fc.*", "dim: 0"), ("*.mlp.c_proj.kernel", "dim: 1"))


def dense(columns, rows):
    """Splits of dense layers by the features that they make, biases too, and of those after them by the features that they take."""
    return (*((f"*.{name}.{end}", f"dim: {dim}") for name in columns for end, dim in (("kernel", 1), ("bias", 0))),
            *((f"*.{name}.kernel", "dim: 0") for name in rows))


def llama(sequence, batch):
    sizes = {"layers": 4, "width": 256, "heads": 4, "hidden": 704, "vocabulary": 1024, "sequence": sequence, "batch": batch}
    columns, rows = ("q", "k", "v", "gate", "up"), ("o", "down")
    splits = [(f"*.{name}.kernel", "dim: 1") for name in columns] + [(f"*.{name}.kernel", "dim: 0") for name in rows]
    return Row("llama", sizes, ("ids",), data=batch > 1, tensor=tuple(splits))


IMAGES = {"size": 64, "classes": 100}
ROWS = {
    "gpt2": Row("gpt2", GPT2, ("ids",), tensor=GPT2_SPLITS),
    "gpt2-bf16": Row("gpt2", GPT2, ("ids",), tensor=GPT2_SPLITS, bf16=True),
    "gpt2-small": Row("gpt2", {"layers": 4, "width": 256, "heads": 8, "vocabulary": 512, "sequence": 128, "batch": 8}, ("ids",), tensor=GPT2_SPLITS),
    "llama-1k": llama(1024, 2),
    "llama-2k": llama(2048, 2),
    "llama-4k": llama(4096, 1),
    "llama-16k": llama(16384, 1),
    "vit": Row("vit", IMAGES | {"layers": 6, "width": 256, "heads": 4, "patch": 8, "batch": 16}, ("x", "y"),
               tensor=dense(("query", "key", "value", "intermediate.dense"), ("output.dense",))),
    "resnet": Row("resnet", IMAGES | {"width": 64, "batch": 8}, ("x", "y")),
    "unet": Row("unet", {"size": 64, "width": 32, "batch": 4}, ("x", "y")),
    # PyTorch's module adds two biases per gate, flax's one.
    "lstm": Row("lstm", {"features": 128, "width": 256, "sequence": 128, "classes": 100, "batch": 32}, ("x", "y"), more_in_pytorch=2 * 4 * 256),
    "mixer": Row("mixer", IMAGES | {"layers": 8, "width": 256, "tokens": 128, "hidden": 1024, "patch": 8, "batch": 16}, ("x", "y"),
                 tensor=dense(("up",), ("down",))),
    "state-space": Row("state_space", {"layers": 4, "width": 256, "state": 8, "vocabulary": 512, "sequence": 256, "batch": 4}, ("ids",)),
    "experts": Row("experts", {"layers": 4, "width": 256, "experts": 8, "vocabulary": 512, "sequence": 256, "batch": 4}, ("ids",),
                   tensor=(("*.experts.*", "dim: 0"),)),
}
# Rows that take long, or more memory than the other sides have; measured where they are named.
LONG = {"llama-16k"}
# Sizes of `--quick`, which tries the programs and measures nothing worth quoting.
QUICK = {"layers": 1, "width": 32, "heads": 2, "hidden": 64, "vocabulary": 64, "sequence": 16, "size": 16, "tokens": 8}


def find(name, quick):
    row = ROWS[name]
    if not quick:
        return row
    sizes = {key: min(value, QUICK.get(key, value)) for key, value in row.sizes.items()}
    more = 2 * 4 * sizes["width"] if row.more_in_pytorch else 0
    return dataclasses.replace(row, sizes=sizes, more_in_pytorch=more)
