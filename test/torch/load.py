# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that values go back into a module, tied weights included, and that wrong ones are refused before anything is written.

REQUIRES: torch
RUN: %torch_python %s %tmp
"""
import os
import pathlib
import sys
import types
import unittest
import unittest.mock

import torch

import meshwright
from meshwright.torch import _tensors, load

FOLDER = pathlib.Path(sys.argv.pop())
FOLDER.mkdir(parents=True, exist_ok=True)


def network():
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3))
    module[2].weight = module[0].weight
    return module


def values_of(module):
    return {name: torch.full_like(value, 2) for name, value in [*module.named_parameters(), *module.named_buffers()]}


class Load(unittest.TestCase):
    def check(self, module):
        for value in [*module.parameters(), *module.buffers()]:
            self.assertTrue(torch.equal(value, torch.full_like(value, 2)))
        self.assertIs(module[2].weight, module[0].weight)

    def test_sources(self):
        module = network()
        values = values_of(module) | {"adamw.m/0.weight": torch.zeros(3, 3)}
        self.check(load(values, module))
        self.check(load({name: value.numpy() for name, value in values.items()}, network()))
        self.check(load(types.SimpleNamespace(variables=values), network()))
        _tensors.save(FOLDER / "values.safetensors", values)
        self.check(load(FOLDER / "values.safetensors", network()))

    def test_checkpoints(self):
        folder, tools = FOLDER / "checkpoints", FOLDER / "tools"
        folder.mkdir(exist_ok=True)
        tools.mkdir(exist_ok=True)
        _tensors.save(folder / "all", values_of(network()))
        tool = tools / "dist-ckpt"
        with unittest.mock.patch.dict(os.environ, PATH=str(tools)):
            self.refuse(FileNotFoundError, "checkpoints is a folder of checkpoints, and dist-ckpt, which reads them, is not in PATH", folder)
            tool.write_text('#!/bin/sh\n[ "$1" = export ] && /bin/cp "$2/all" "$3"\n')
            tool.chmod(0o755)
            self.check(load(folder, network()))
            tool.write_text("#!/bin/sh\necho no such step\nexit 1\n")
            self.refuse(ValueError, "dist-ckpt cannot export .*checkpoints: no such step", folder)
        if tool.exists():
            tool.unlink()

    def test_other_name_of_tied_weights(self):
        values = values_of(network())
        values["2.weight"] = values.pop("0.weight")
        self.check(load(values, network()))

    def test_scalar(self):
        module = torch.nn.Linear(1, 1)
        load({"weight": torch.tensor(3.0), "bias": torch.tensor([4.0])}, module)
        self.assertEqual((module.weight.item(), module.bias.item()), (3, 4))

    def refuse(self, kind, expected, values):
        module = network()
        before = [value.clone() for value in module.parameters()]
        with self.assertRaisesRegex(kind, expected):
            load(values, module)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, module.parameters())))

    def test_missing(self):
        values = values_of(network())
        del values["1.bias"]
        self.refuse(KeyError, "the dict has no value of 1.bias, and 7 others; the first is 0.weight", values)

    def test_other_shape(self):
        self.refuse(ValueError, r"1.weight has shape \[4\] in the dict, and \[3\] in the module", values_of(network()) | {"1.weight": torch.ones(4)})

    def test_damaged_file(self):
        path = FOLDER / "short.safetensors"
        path.write_bytes(b"abc")
        self.refuse(meshwright.InputError, "short.safetensors is no file of safetensors", path)


if __name__ == "__main__":
    unittest.main()
