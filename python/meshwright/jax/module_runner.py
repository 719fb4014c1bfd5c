# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a partitioned step that dist-opt wrote as StableHLO (--emit-stablehlo) on the devices of JAX.

    module = Module.load("step.mlir")
    runner = Runner(module)                                     # one device per rank, of jax.devices()
    state = runner.place({"p.w": numpy_array, ...})             # variables by name, as whole arrays
    outputs, state = runner.step(state, {"x": ...})             # outputs are arrays of JAX; `state` is donated
    weights = runner.read(state)                                # back to numpy

A module in the form "manual" is one primitive, whose lowering inserts the module's function into the program that JAX
compiles. So the step can be called inside jax.jit, and its results are ordinary sharded arrays. One in the form
"replicas" is a program of its own, which XLA compiles as it is; the same arrays are its arguments and results, and each
replica gets the part on its device.
"""

import hashlib
import json

import jax
import jax.extend.backend
import jax.extend.core
import jax.interpreters.mlir
import numpy as np
from jax.extend.mlir import ir

__all__ = ["Module", "Port", "Runner"]

# The types whose names are not those of numpy.
_TYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i1": "bool", "f8E4M3FN": "float8_e4m3fn",
          "f8E5M2": "float8_e5m2", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz",
          "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3", "f8E8M0FNU": "float8_e8m0fnu"}


def _get_dtype(name):
    if name in _TYPES:
        return jax.numpy.dtype(_TYPES[name])
    sign, width = ("uint", name[2:]) if name.startswith("ui") else ("int", name[1:])
    return np.dtype(sign + width)


class Port:
    """An argument or a result of a module: a value by its name, and the array in which it is stored.

    `init` is the first value of all elements of a variable, where the module knows one; else None. `holders` are the
    coordinates of a pipeline's stages that have the value; None where all do. `count` is how many steps or micro-batches
    there are, of the number of one; else None.

    `shape` and `dtype` are those of the value. `stored` is the shape of the array and `sharding` the axes that split each
    of its dimensions. The two shapes differ where no plain sharding says which rank holds what; `store` and `restore`
    convert between them.
    """

    def __init__(self, entry):
        self.name = entry["name"]
        self.kind = entry["kind"]
        self.dtype = _get_dtype(entry["type"])
        self.shape = tuple(entry["shape"])
        self.stored = tuple(entry["stored"])
        self.sharding = [tuple(axes) for axes in entry["sharding"]]
        self.result = entry.get("result")
        self.init = entry.get("init")
        self.holders = entry.get("holders")
        self.count = entry.get("count")
        self._digits = entry.get("digits")
        self._stacked = entry.get("stacked", [])
        self._reduction = entry.get("reduction")

    @property
    def is_plain(self):
        """True if the array is the value itself."""
        return self._digits is None

    def store(self, value):
        """The array in which `value` is stored."""
        array = np.asarray(value)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError(f"{self.name} is of {self.dtype}{list(self.shape)}, and {array.dtype}{list(array.shape)} is given")
        if self.is_plain:
            return array
        # From the last dimension on, so that the numbers of earlier ones stay.
        for dim in reversed(range(len(self.shape))):
            place = dim
            for outer, extent, count, part in self._digits[dim]:
                array = array.reshape(array.shape[:place] + (outer, extent) + array.shape[place + 1:])
                padding = [(0, 0)] * array.ndim
                padding[place + 1] = (0, count * part - extent)
                array = np.pad(array, padding)
                array = array.reshape(array.shape[:place + 1] + (count, part) + array.shape[place + 2:])
                place += 2
        if self._stacked:
            array = self._stack(array)
        return array.reshape(self.stored)

    def _stack(self, array):
        """One element per rank: its own where the value has an owner, and a neutral element elsewhere."""
        sizes = [size for _, size, _ in self._stacked]
        is_partial = any(holder < 0 for *_, holder in self._stacked)
        if is_partial and self._reduction not in ("sum", "product"):
            # Reductions of equal values give the value.
            fill = array
        else:
            fill = np.full_like(array, 1 if is_partial and self._reduction == "product" else 0)
        stack = np.broadcast_to(fill, (*sizes, *array.shape)).copy()
        stack[tuple(max(holder, 0) for *_, holder in self._stacked)] = array
        return stack

    def restore(self, array):
        """The value that `array` stores."""
        array = np.asarray(array)
        if self.is_plain:
            return array
        shape = [size for _, size, _ in self._stacked]
        for dim, size in enumerate(self.shape):
            for outer, _, count, part in self._digits[dim]:
                shape += [outer, count]
                size = part
            shape.append(size)
        array = array.reshape(shape)
        for _, size, holder in self._stacked:
            if holder >= 0:
                array = array[holder]
            else:
                combine = {"sum": np.add, "product": np.multiply, "max": np.maximum, "min": np.minimum,
                           "and": np.bitwise_and, "or": np.bitwise_or}[self._reduction]
                array = combine.reduce(array, axis=0)
        place = 0
        for dim in range(len(self.shape)):
            # From the minor digit outwards.
            for level in reversed(range(len(self._digits[dim]))):
                outer, extent, count, part = self._digits[dim][level]
                at = place + 2 * level
                array = array.reshape(array.shape[:at + 1] + (count * part,) + array.shape[at + 3:])
                array = np.take(array, range(extent), axis=at + 1)
                array = array.reshape(array.shape[:at] + (outer * extent,) + array.shape[at + 2:])
            place += 1
        return array.reshape(self.shape)


class Module:
    """A step as dist-opt --emit-stablehlo writes it: the text, and its arguments and results by name."""

    def __init__(self, text):
        first = text.split("\n", 1)[0]
        if not first.startswith("// {"):
            raise ValueError("the first line of a module is a comment with its arguments and results; this is "
                             f"{first[:40]!r}; dist-opt --emit-stablehlo writes one")
        header = json.loads(first[3:])
        if header["version"] != 1:
            raise ValueError(f"the module is of version {header['version']}, and this reads version 1")
        self.text = text
        self.form = header["form"]
        self.axes = {name: size for name, size in header["mesh"]}
        self.arguments = [Port(entry) for entry in header["arguments"]]
        self.results = [Port(entry) for entry in header["results"]]
        # The name is that of the text, so that equal modules are one in a program.
        self._digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    @property
    def variables(self):
        """The arguments that are state, by name."""
        return {port.name: port for port in self.arguments if port.kind != "input"}

    @property
    def inputs(self):
        """The arguments that a step is fed, by name."""
        return {port.name: port for port in self.arguments if port.kind == "input"}

    @property
    def outputs(self):
        """The results that are no state, by name."""
        return {port.name: port for port in self.results if port.kind == "output"}

    @property
    def num_ranks(self):
        return int(np.prod(list(self.axes.values()), dtype=np.int64))

    # Modules are parameters of a primitive, which JAX compares.
    def __eq__(self, other):
        return isinstance(other, Module) and self.text == other.text

    def __hash__(self):
        return hash(self._digest)

    def __repr__(self):
        return f"Module({self._digest}, {self.axes})"


_module_p = jax.extend.core.Primitive("meshwright_module")
_module_p.multiple_results = True


@_module_p.def_abstract_eval
def _get_results(*arguments, module):
    return [jax.core.ShapedArray(port.stored, port.dtype) for port in module.results]


def _lower(context, *arguments, module):
    """Inserts the module's function, and its mesh, into the program that is being lowered, and calls it."""
    program = context.module_context.module
    name = f"meshwright_{module._digest}"
    symbols = ir.SymbolTable(program.operation)
    if name not in symbols:
        text = module.text.replace("@mesh", f"@meshwright_mesh_{module._digest}")
        added = ir.Module.parse(text, context=context.module_context.context)
        for op in list(added.body.operations):
            if op.operation.name == "func.func":
                ir.SymbolTable(added.operation).set_symbol_name(op, name)
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
                # Sharding and donation of arguments are those of the program.
                for attributes in ("arg_attrs", "res_attrs"):
                    if attributes in op.attributes:
                        del op.attributes[attributes]
            op.operation.detach_from_parent()
            ir.InsertionPoint.at_block_begin(program.body).insert(op.operation)
        symbols = ir.SymbolTable(program.operation)
    types = ir.FunctionType(ir.TypeAttr(symbols[name].attributes["function_type"]).value).results
    call = ir.Operation.create("func.call", results=types, operands=list(arguments),
                               attributes={"callee": ir.FlatSymbolRefAttr.get(name)})
    return list(call.results)


jax.interpreters.mlir.register_lowering(_module_p, _lower)


def pick_devices(module, devices=None):
    """The devices of the ranks of `module`, of `devices` or of jax.devices(), as an array; checks its types, too."""
    wide = next((port for port in module.arguments + module.results if port.dtype.itemsize == 8), None)
    if wide is not None and not jax.config.jax_enable_x64:
        raise ValueError(f"{wide.name} is of {wide.dtype}; set jax.config.update(\"jax_enable_x64\", True)")
    devices = list(jax.devices() if devices is None else devices)
    if len(devices) < module.num_ranks:
        raise ValueError(f"the module has {module.num_ranks} ranks, and there are {len(devices)} devices")
    return np.array(devices[:module.num_ranks], dtype=object)


def make_sharding(mesh, port):
    """How the array of `port` lies on the devices of a mesh of JAX."""
    axes = [axes if len(axes) != 1 else axes[0] for axes in port.sharding]
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*(axis or None for axis in axes)))


class _Replicas:
    """A module in the form of replicas, compiled for `devices`, one per rank in their order. Donation is what the module says."""

    def __init__(self, module, devices, taken, returned):
        ids = np.array([device.id for device in devices]).reshape(-1, 1)
        options = jax.extend.backend.get_compile_options(num_replicas=len(devices), num_partitions=1, device_assignment=ids)
        self._arguments = taken
        self._results = [(port.stored, sharding) for port, sharding in zip(module.results, returned)]
        self._executable = devices[0].client.compile_and_load(module.text.encode(), devices, options)

    def __call__(self, *arguments):
        placed = [jax.device_put(array, sharding) for array, sharding in zip(arguments, self._arguments)]
        parts = self._executable.execute_sharded(placed).disassemble_into_single_device_arrays()
        return [jax.make_array_from_single_device_arrays(shape, sharding, list(arrays))
                for (shape, sharding), arrays in zip(self._results, parts)]

    def get_hlo(self):
        return "\n".join(module.to_string() for module in self._executable.hlo_modules())


class Runner:
    """Runs steps of a module, with one device per rank.

    `devices` are those of the ranks, in their order; the first ones of jax.devices() if they are not given.
    """

    def __init__(self, module, devices=None):
        self.module = module
        devices = pick_devices(module, devices)
        self.mesh = jax.sharding.Mesh(devices.reshape([*module.axes.values()] or [1]), [*module.axes] or ["rank"])
        taken, returned = ([self.get_sharding(port) for port in ports] for ports in (module.arguments, module.results))
        if module.form == "replicas":
            self._compiled = _Replicas(module, [*devices], taken, returned)
        else:
            donated = tuple(index for index, port in enumerate(module.arguments) if port.result is not None)
            self._compiled = jax.jit(self.call, in_shardings=taken, out_shardings=returned, donate_argnums=donated)

    def get_sharding(self, port):
        """How the array of `port` lies on the devices."""
        return make_sharding(self.mesh, port)

    def run(self, arguments):
        """Runs the module on stored arrays, one per argument; returns one per result. Donates those with a result."""
        return self._compiled(*arguments)

    def _expect_manual(self):
        if self.module.form != "manual":
            raise ValueError(f"the module is in the form {self.module.form}, which is a program of its own; inside a program of "
                             "JAX runs the form manual")

    def call(self, *arguments):
        """The step on stored arrays, one per argument of the module; returns one per result. To be called in jax.jit."""
        self._expect_manual()
        return _module_p.bind(*arguments, module=self.module)

    def lower(self):
        """The program around the module, as jax.jit(...).lower(...) returns it."""
        self._expect_manual()
        return self._compiled.lower(*(jax.ShapeDtypeStruct(port.stored, port.dtype) for port in self.module.arguments))

    def get_hlo(self):
        """The program of a rank as XLA compiled it, in the text of HLO."""
        return self._compiled.get_hlo() if self.module.form == "replicas" else self.lower().compile().as_text()

    def place(self, values):
        """Arrays on the devices for arguments of the module by name, each made of the whole value."""
        ports = {port.name: port for port in self.module.arguments}
        for name in values:
            if name not in ports:
                raise KeyError(f"the module has no argument {name}; the first of {len(ports)} is {next(iter(ports), None)}")
        return {name: jax.device_put(ports[name].store(value), self.get_sharding(ports[name]))
                for name, value in values.items()}

    def read(self, arrays):
        """The whole values of variables or outputs, as numpy arrays."""
        ports = {port.name: port for port in self.module.arguments + self.module.results}
        return {name: ports[name].restore(array) for name, array in arrays.items()}

    def step(self, state, inputs):
        """Runs a step; returns the outputs and the next state.

        `state` has an array of `place` for every variable. Those with a new value are donated: the caller uses the arrays
        of the returned state instead. `inputs` are whole values or arrays of `place`.
        """
        missing = [name for name in self.module.variables if name not in state]
        missing += [name for name in self.module.inputs if name not in inputs]
        if missing:
            raise KeyError(f"the step needs {missing[0]}, which is not given" +
                           (f", and {len(missing) - 1} more" if len(missing) > 1 else ""))
        fed = self.place({name: value for name, value in inputs.items() if not isinstance(value, jax.Array)})
        arguments = [state[port.name] if port.kind != "input" else fed.get(port.name, inputs[port.name])
                     for port in self.module.arguments]
        results = self.run(arguments)
        following = dict(state)
        outputs = {}
        for port, result in zip(self.module.results, results):
            (outputs if port.kind == "output" else following)[port.name] = result
        return outputs, following
