# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages, and errors to expect, of the tests of the Python package."""
import pathlib

import numpy

import meshwright

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
NETWORK = FIXTURES / "mlp-tiny-f64.mlir"
REFERENCE = FIXTURES / "reference" / "mlp-tiny-f64"
STRATEGY = {
    "mesh": {"axes": [{"name": "dp", "size": 2}, {"name": "tp", "size": 2}]},
    "model": {"parameters": "p.*", "batch": {"inputs": ["x", "y"]}, "range": {"input": "y", "max": 10}},
    "train": {"sgd": {"lr": {"constant": 0.1}}},
    "data": {"axes": "dp"},
    "tensor": {"axis": "tp", "split": {"match": "*.layer0.kernel", "dim": 1}},
}


def batch(step):
    return meshwright.safetensors.load(REFERENCE / f"batch{step}.safetensors")


def raises(error, text, call, *arguments, **more):
    """The error of a call, which has this type and, in its text, these words."""
    try:
        call(*arguments, **more)
    except error as found:
        assert text in str(found), (text, str(found))
        return found
    raise AssertionError(f"{call} raises no {error.__name__} with \"{text}\"")
