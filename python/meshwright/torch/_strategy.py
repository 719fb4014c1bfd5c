# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The strategy that an export begins with."""

from __future__ import annotations


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def find_globs(names: list[str], others: list[str]) -> list[str]:
    """Globs that match all `names` and none of the `others`: `first.*` where that can be, or `*.last`, or the name itself."""
    globs = []
    covered = lambda name: any(_matches(glob, name) for glob in globs)
    for name in names:
        if covered(name):
            continue
        first, *rest = name.split(".")
        choices = [f"{first}.*", f"*.{rest[-1]}"] if rest else []
        globs.append(next((glob for glob in choices if not any(_matches(glob, other) for other in others)), name))
    return globs


def _matches(glob: str, name: str) -> bool:
    """True for names that a glob of `find_globs` matches."""
    if glob.endswith(".*"):
        return name.startswith(glob[:-1])
    return name.endswith(glob[1:]) if glob.startswith("*.") else name == glob


def make_strategy(variables: list[str], frozen: list[str], others: list[str], batch: list[str], optimizer: str | None) -> str:
    """The text: which arguments are variables, and which of these stay; the batch; the loss and an optimizer to begin with, unless the graph is a whole step."""
    lines = ["model {"]
    lines += [f"  parameters: {_quote(glob)}" for glob in find_globs(variables, others)]
    trained = [name for name in variables if name not in set(frozen)]
    lines += [f"  frozen: {_quote(glob)}" for glob in find_globs(frozen, trained + others)]
    lines += [f"  batch {{ inputs: {_quote(name)} dim: 0 }}" for name in batch]
    lines += ["}"] + ([f"train {{ loss: 0 {optimizer} }}"] if optimizer else [])
    return "\n".join(lines) + "\n"
