# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what meshwright.torch.export says of a module, and what it refuses. What the graphs compute is tested by fixtures, without PyTorch.

REQUIRES: torch
RUN: %torch_python %s %tmp
"""
import pathlib
import re
import sys
import types
import unittest
import warnings

import torch
import torch.nn.functional as F

import meshwright.torch
from meshwright.torch import ExportError, _tensors, export
from meshwright.torch._strategy import find_globs
from meshwright.torch.aten import Unsupported, type_of_tensor

FOLDER = pathlib.Path(sys.argv.pop())
FOLDER.mkdir(parents=True, exist_ok=True)


def module_of(function, **members):
    """A module whose forward is `function` of itself and the inputs."""
    module = type("Module", (torch.nn.Module,), {"forward": function})()
    for name, member in members.items():
        if isinstance(member, tuple):
            module.register_buffer(name, *member)
        else:
            setattr(module, name, member)
    return module


def several_put(self, x):
    y = x.clone()
    y[x > 0] = x.reshape(-1)
    return y.sum()


def linear():
    return torch.nn.Linear(3, 3)


class Export(unittest.TestCase):
    def refuse(self, expected, function, *inputs, **members):
        keywords = {key: members.pop(key) for key in ("loss", "targets", "backward", "optimizer") if key in members}
        with self.assertRaises(ExportError) as caught:
            export(module_of(function, **members), inputs or (torch.ones(2, 3),), **keywords)
        self.assertRegex(str(caught.exception), expected)

    def test_unknown_operation(self):
        def forward(self, x):
            return torch.fft.rfft(x).abs().sum()

        self.refuse(r"export\.py:\d+: operation aten\._fft_r2c\.default has no text; meshwright\.torch\.operations\(\) lists", forward)

    def test_form_of_an_operation(self):
        def forward(self, x):
            return F.adaptive_avg_pool2d(x, 2).sum()

        self.refuse(r"export\.py:\d+: operation aten\._adaptive_avg_pool2d\.default pools 5x5 into 2x2, in windows of different sizes",
                    forward, torch.ones(1, 1, 5, 5))
        self.refuse(r"reads the indices of a pooling", lambda self, x: F.max_pool2d(x, 2, return_indices=True)[1].double().sum(), torch.ones(1, 1, 4, 4))

    def test_more_forms(self):
        ones, image = torch.ones(4, 3), torch.ones(1, 1, 3, 3)
        positions = torch.tensor([[0, 1, 2]])
        for expected, function, x in (
                ("linalg_vector_norm.default is of order 3; orders 1, 2 and infinity have a text", lambda self, x: x.norm(3, 1).sum(), ones),
                ("histc.default takes its bounds from the data; give min and max", lambda self, x: torch.histc(x, 4).sum(), ones),
                ("embedding.default scales gradients by the frequency of their rows", lambda self, x: F.embedding(positions, x, scale_grad_by_freq=True).sum(), ones),
                ("index_put.default puts several values where a mask is true, whose number depends on the data; use torch.where", several_put, ones),
                ("scatter_reduce.two reduces by prod; sum, amax and amin with include_self=True",
                 lambda self, x: x.scatter_reduce(0, positions, x[:1], "prod").sum(), ones),
                ("scatter_reduce.two reduces by sum without the elements themselves",
                 lambda self, x: x.scatter_reduce(0, positions, x[:1], "sum", include_self=False).sum(), ones),
                (r"as_strided.default has strides \[1, 1\], which are not those of a reshape", lambda self, x: x.as_strided((2, 2), (1, 1)).sum(), ones),
                ("upsample_nearest2d.* scales by a factor that is not whole", lambda self, x: F.interpolate(x, (4, 4)).sum(), image)):
            self.refuse(expected, function, x)

    def test_changed_values(self):
        self.refuse("the module changes .*, an argument of kind user_input_mutation; only buffers may change", lambda self, x: x.add_(1).sum())
        self.refuse(r"detach_\(\) changes a tensor that others may read; use detach\(\)", lambda self, x: (x * 2).detach_().sum())

    def test_size_of_run_time(self):
        with self.assertRaisesRegex(Unsupported, "has a dimension of size u0, which is known at run time alone; shapes have to be static"):
            type_of_tensor(types.SimpleNamespace(shape=("u0",), dtype=torch.float32))

    def test_data_dependent_shape(self):
        self.refuse("operation aten.index.Tensor selects by a mask, so that the shape of the result depends on the data", lambda self, x: x[x > 0].sum())
        self.refuse("PyTorch cannot export the module: ", lambda self, x: x.sum() if x.sum() > 0 else x.mean())

    def test_no_loss(self):
        self.refuse(r"returns a tensor of shape \[2, 3\] and torch.float32, not a scalar loss; give loss=", lambda self, x: x)
        self.refuse("returns str without a loss; give loss=", lambda self, x: "none")
        self.refuse("targets are inputs of the loss", lambda self, x: x.sum(), targets=(torch.ones(1),))
        self.refuse("both have an input x; rename", lambda self, x: x, loss=lambda result, x: (result * x).sum(), targets=(torch.ones(2, 3),))

    def test_inputs(self):
        self.refuse("example_inputs: x is float, not a tensor", lambda self, x: x, 2.0)
        self.refuse("example_inputs are 2 values, but there are 1 parameters", lambda self, x: x, torch.ones(1), torch.ones(1))
        self.refuse("x has a value of torch.complex64", lambda self, x: x.real.sum(), torch.ones(1, dtype=torch.complex64))

    def test_equal_names(self):
        self.refuse("two arguments of the graph are called x; rename", lambda self, x: (x * self.x).sum(), x=torch.nn.Parameter(torch.ones(3)))

    def test_own_backward(self):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, g):
                return 3 * g

        self.refuse(r'Double is an autograd function with a backward of its own, .* export with backward="torch"', lambda self, x: Double.apply(x).sum())

    def test_backward(self):
        self.refuse('backward is "jax"; it can be "meshwright" or "torch"', lambda self, x: x.sum(), backward="jax")
        self.refuse('backward="torch" exports a whole step, which takes optimizer=', lambda self, x: x.sum(), backward="torch")
        layer = linear()
        self.refuse("optimizer Adagrad has no text; SGD, Adam and AdamW have", lambda self, x: self.a(x).sum(), a=layer, backward="torch",
                    optimizer=torch.optim.Adagrad(layer.parameters()))
        self.refuse("SGD with nesterov=True has no text", lambda self, x: self.a(x).sum(), a=layer, backward="torch",
                    optimizer=torch.optim.SGD(layer.parameters(), 0.1, 0.9, nesterov=True))

    def test_names_and_lines(self):
        def forward(self, x):
            return self.layers[1](x).sum()

        exported = export(module_of(forward, layers=torch.nn.ModuleList([linear(), linear()])), (torch.ones(2, 3),))
        self.assertIn('loc("layers.1.weight")', exported.text)
        self.assertIn('loc("layers/1/addmm"', exported.text)
        self.assertRegex(exported.text, r'loc\("[^"]*export\.py":\d+:1\)')
        self.assertNotIn("site-packages", exported.text)

    def test_frozen(self):
        def forward(self, x):
            with torch.no_grad():
                factor = self.stopped(x)
            return (self.used(x) * factor * self.kept(x)).sum()

        module = module_of(forward, used=linear(), stopped=linear(), unused=linear(), kept=linear().requires_grad_(False))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exported = export(module, (torch.ones(2, 3),))
        self.assertEqual(exported.frozen, [f"{name}.{kind}" for name in ("stopped", "unused", "kept") for kind in ("weight", "bias")])
        self.assertEqual([str(each.message) for each in caught if each.category is UserWarning],
                         ["the loss does not depend on unused.weight, unused.bias: frozen in the strategy",
                          "no gradient of the loss reaches stopped.weight, stopped.bias: frozen in the strategy"])
        for name in ("stopped", "unused", "kept"):
            self.assertIn(f'frozen: "{name}.*"', exported.strategy)

    def test_buffers(self):
        def forward(self, x):
            return (self.norm(x) * self.saved + self.table).sum()

        module = module_of(forward, norm=torch.nn.BatchNorm1d(3), saved=(torch.ones(3),), table=(torch.tensor([1.0, 2, 3]), False))
        exported = export(module, (torch.ones(2, 3),))
        self.assertEqual(sorted(exported.state), ["norm.bias", "norm.num_batches_tracked", "norm.running_mean", "norm.running_var", "norm.weight", "saved"])
        self.assertRegex(exported.text, r'tensor<3xf32> \{tf\.aliasing_output = \d : i32\} loc\("norm\.running_mean"\)')
        self.assertIn('jax.result_info = "result.norm.running_mean"', exported.text)
        self.assertIn("dense<[1.0, 2.0, 3.0]>", exported.text)
        self.assertIn('frozen: "saved"', exported.strategy)

    def test_tied_weights(self):
        def forward(self, x):
            return self.second(self.first(x)).sum()

        module = module_of(forward, first=linear(), second=linear())
        module.second.weight = module.first.weight
        exported = export(module, (torch.ones(2, 3),))
        self.assertEqual(sorted(exported.state), ["first.bias", "first.weight", "second.bias"])

    def test_autocast(self):
        def forward(self, x):
            with torch.no_grad():
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    factor = self.a(x)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return (self.a(x) * factor).sum().float()

        def inside(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                with torch.no_grad():
                    factor = self.a(x)
                return (self.a(x) * factor).sum().float()

        exported = export(module_of(forward, a=linear()), (torch.ones(2, 3),))
        self.assertEqual(len(re.findall(r"dot_general.*tensor<2x3xbf16>", exported.text)), 2)
        self.assertEqual(len(re.findall(r"bitcast_convert.*-> tensor<2x3xbf16>", exported.text)), 1)
        self.refuse(r"export\.py:\d+: torch\.export loses no_grad inside of autocast; put autocast inside of no_grad", inside, a=linear())

    def test_dropout(self):
        module = module_of(lambda self, x: self.drop(x).sum(), drop=torch.nn.Dropout(0.5))
        self.assertIn('tensor<4xui32> loc("key")', export(module, (torch.ones(2, 3),)).text)
        self.assertNotIn("rng_bit_generator", export(module.eval(), (torch.ones(2, 3),)).text)

    def test_files(self):
        module = linear().to(torch.bfloat16)
        exported = export(module, (torch.ones(2, 3, dtype=torch.bfloat16),), lambda y: y.float().sum(), FOLDER / "new" / "model")
        state = _tensors.load(FOLDER / "new" / "model.safetensors")
        self.assertEqual(list(state), ["bias", "weight"])
        self.assertTrue(torch.equal(state["weight"], module.weight))
        self.assertEqual((FOLDER / "new" / "model.mlir").read_text(), exported.text)

    def test_globs(self):
        self.assertEqual(find_globs(["a.w", "a.b", "c.w"], ["x"]), ["a.*", "c.*"])
        self.assertEqual(find_globs(["a.w", "a.n.w"], ["a.n.mean"]), ["*.w"])
        self.assertEqual(find_globs(["a.w", "b"], ["a.x", "c.w"]), ["a.w", "b"])

    def test_same_text_twice(self):
        module = module_of(lambda self, x: self.a(x).softmax(1).amax(1).sum(), a=linear())
        self.assertEqual(export(module, (torch.ones(2, 3),)).text, export(module, (torch.ones(2, 3),)).text)

    def test_operations(self):
        self.assertTrue(all(re.fullmatch(r"[\w]+\.[\w]+\.[\w]+", name) for name in meshwright.torch.operations()))


if __name__ == "__main__":
    unittest.main()
