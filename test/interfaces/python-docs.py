# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# RUN: rm -rf %tmp && mkdir %tmp && cp %fixtures/mlp-tiny.mlir %tmp/model.mlir
# RUN: cd %tmp && %python -W ignore %s %source
"""The code of docs/python.md runs, but for the part with JAX: that is in python-gpt2.py."""
import pathlib
import re
import sys

page = (pathlib.Path(sys.argv[1]) / "docs" / "python.md").read_text(encoding="utf-8")
part = page[page.index("\n## JAX"):] if sys.argv[2:] == ["jax"] else page[: page.index("\n## JAX")]
blocks = re.findall(r"^```python\n(.*?)^```", part, re.M | re.S)
assert len(blocks) >= (1 if sys.argv[2:] else 4), len(blocks)
names = {}
for block in blocks:
    exec(compile(block, "docs/python.md", "exec"), names)  # pylint: disable=exec-used
if sys.argv[2:] != ["jax"]:
    assert names["training"].steps == 1
    assert names["other"].steps == 3 and names["bias"] is not None and (names["error"] if "error" in names else True)
