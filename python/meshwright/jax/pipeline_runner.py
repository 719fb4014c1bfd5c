# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a pipelined step that dist-opt wrote as StableHLO (--emit-stablehlo) on the devices of JAX.

    pipeline = Pipeline.load("step/")
    runner = PipelineRunner(pipeline)                           # one device per rank, of jax.devices()
    state = runner.place({"p.w": numpy_array, ...})             # variables by name, as whole arrays
    outputs, state = runner.step(state, {"x": ...})
    weights = runner.read(state)                                # back to numpy

The ranks at one coordinate of the axis of stages are a *stage group*, a mesh of its own. It runs a module for each action
of its stages, in the order of the list. A send copies an array from the devices of one stage group to those of another.
Nothing waits on the host: actions and copies are dispatched as soon as what they read has been dispatched.

Where gradients of several steps become one update, a step runs the actions that the list has for it. The number of the step is a
variable that stays on the host.
"""

import fractions
import json
import pathlib

import jax
import numpy as np

from .module_runner import Module, Port, Runner, make_sharding, pick_devices

__all__ = ["Pipeline", "PipelineRunner", "is_pipeline"]

_SEPARATOR = "// ----- "


def is_pipeline(text):
    """True if `text` is that of a pipelined step, not of a module."""
    return text.startswith("{")


def _get_modules(entry):
    """The names of the modules of an action."""
    return [*entry.get("modules", {}).values(), *([entry["module"]] if "module" in entry else [])]


class _Action:
    """One entry of the list: a send from one stage group to another, a module for all ranks, or a module per stage group."""

    def __init__(self, entry, modules):
        self.name = entry["name"]
        self.sender, self.receiver = entry.get("from"), entry.get("to")
        self.takes, self.gives = entry.get("takes"), entry.get("gives")
        self.exchange = modules[entry["module"]] if "module" in entry else None
        self.modules = {int(place): modules[name] for place, name in entry.get("modules", {}).items()}
        # All steps where there is no list of them.
        self.steps = set(entry["steps"]) if "steps" in entry else None

    @property
    def is_send(self):
        return self.sender is not None


class Pipeline:
    """A pipelined step as dist-opt --emit-stablehlo writes it: the list of its values, actions and their order, and the modules."""

    def __init__(self, text):
        head, *rest = text.split("\n" + _SEPARATOR)
        header = json.loads(head)
        if header["version"] != 1:
            raise ValueError(f"the pipeline is of version {header['version']}, and this reads version 1")
        modules = {name: Module(module) for name, module in (part.split("\n", 1) for part in rest)}
        self.axes = {name: size for name, size in header["mesh"]}
        self.stages = header["stages"]
        self.slices = header["slices"]
        self.steps = header["steps"]
        self.arguments = [Port(entry) for entry in header["arguments"]]
        self.results = [Port(entry) for entry in header["results"]]
        self.slots = header["slots"]
        self.actions = {entry["name"]: _Action(entry, modules) for entry in header["actions"]}
        self.order = header["order"]

    @classmethod
    def load(cls, path):
        """Reads the folder that dist-opt wrote, or one text."""
        path = pathlib.Path(path)
        if path.is_file():
            return cls(path.read_text(encoding="utf-8"))
        text = (path / "step.json").read_text(encoding="utf-8")
        # Files of an earlier step may stand beside those that the list names.
        for name in sorted({name for entry in json.loads(text)["actions"] for name in _get_modules(entry)}):
            text += f"{_SEPARATOR}{name}\n" + (path / f"{name}.mlir").read_text(encoding="utf-8")
        return cls(text)

    @property
    def variables(self):
        """The arguments that are state, by name."""
        return {port.name: port for port in self.arguments if port.kind != "input"}

    @property
    def counter(self):
        """The variable that is the number of the step, of those whose gradients become one update; None where each has one."""
        return next((port for port in self.arguments if port.count is not None), None)

    def get_actions(self, step):
        """The names of the actions of a step, of those whose gradients become one update."""
        return frozenset(name for name, action in self.actions.items() if action.steps is None or step in action.steps)

    @property
    def inputs(self):
        """The arguments that a step is fed, by name."""
        return {port.name: port for port in self.arguments if port.kind == "input"}

    @property
    def outputs(self):
        """The results that are no state, by name."""
        return {port.name: port for port in self.results}

    @property
    def num_ranks(self):
        return int(np.prod(list(self.axes.values()), dtype=np.int64))


class PipelineRunner:
    """Runs steps of a pipeline, with one device per rank.

    `devices` are those of the ranks, in their order; the first ones of jax.devices() if they are not given.
    """

    def __init__(self, pipeline, devices=None):
        self.module = pipeline
        axis = list(pipeline.axes).index(pipeline.stages)
        grid = pick_devices(pipeline, devices).reshape([*pipeline.axes.values()])
        self._groups = [np.take(grid, [place], axis) for place in range(grid.shape[axis])]
        self._meshes = [jax.sharding.Mesh(group, [*pipeline.axes]) for group in self._groups]
        self._runners = {}
        for action in pipeline.actions.values():
            for place, module in action.modules.items():
                self._runners[action.name, place] = Runner(module, [*self._groups[place].flat])
            if action.exchange:
                self._runners[action.name, None] = Runner(action.exchange, [*grid.flat])
        places = range(len(self._groups))
        self._numbers = [[jax.device_put(np.int32(number), self._replicated(place)) for number in range(pipeline.slices)] for place in places]
        self._ports = {port.name: port for port in pipeline.arguments + pipeline.results}
        # The accumulators of each stage group; the first micro-batch begins them, whatever they are before.
        self._accumulators = [{} for _ in places]
        self._taken = [set() for _ in places]
        for (_, place), runner in self._runners.items():
            if place is None:
                continue
            for port in runner.module.arguments:
                self._taken[place].add(port.name)
                if port.kind == "value" and port.result is not None and port.name not in pipeline.slots:
                    zeros = np.zeros(port.stored, port.dtype)
                    self._accumulators[place][port.name] = jax.device_put(zeros, make_sharding(self._meshes[place], port))
        self._orders = {}

    def _replicated(self, place):
        return jax.sharding.NamedSharding(self._meshes[place], jax.sharding.PartitionSpec())

    def _get_places(self, port):
        """The stage groups that have a value of the step."""
        if port.kind == "input":
            return [place for place, taken in enumerate(self._taken) if port.name in taken]
        return range(len(self._groups)) if port.holders is None else port.holders

    def _key(self, name, number):
        """A value of one micro-batch, or one of the step, among the values of a stage group."""
        return (name, number) if name in self.module.slots else name

    def _get_read(self, place, item):
        """The keys of what an item reads at `place`."""
        name, number, *wait = item
        action = self.module.actions[name]
        if wait:
            return []
        if action.is_send:
            return [self._key(action.takes, number)] if action.sender == place else []
        module = action.exchange or action.modules.get(place)
        return [self._key(port.name, number) for port in module.arguments if port.kind != "slice"] if module else []

    def _get_order(self, step):
        """For every stage group the items of a step, each with the values of micro-batches that nothing reads after it."""
        actions = self.module.get_actions(step)
        if actions not in self._orders:
            self._orders[actions] = [self._find_dropped(place, [item for item in row if item[0] in actions])
                                     for place, row in enumerate(self.module.order)]
        return self._orders[actions]

    def _find_dropped(self, place, row):
        seen, items = set(), []
        for item in reversed(row):
            last = [key for key in self._get_read(place, item) if isinstance(key, tuple) and key not in seen]
            seen.update(last)
            items.append((item, last))
        return items[::-1]

    def place(self, values):
        """Arrays on the devices for arguments by name, each made of the whole value; of every stage group that has it."""
        arguments = {port.name: port for port in self.module.arguments}
        for name in values:
            if name not in arguments:
                raise KeyError(f"the step has no argument {name}; the first of {len(arguments)} is {next(iter(arguments), None)}")
        placed = {}
        for name, value in values.items():
            port = arguments[name]
            stored = port.store(value)
            if port is self.module.counter:
                placed[name] = {0: stored}
                continue
            placed[name] = {place: jax.device_put(stored, make_sharding(self._meshes[place], port)) for place in self._get_places(port)}
        return placed

    def read(self, arrays):
        """The whole values of variables or outputs, as numpy arrays."""
        return {name: self._ports[name].restore(next(iter(places.values()))) for name, places in arrays.items()}

    def count_runs(self):
        """How often a step runs each program, and each send: pairs of a runner or an action and a number, the mean of the steps
        whose gradients become one update (a fraction)."""
        counts = {}
        for place, row in enumerate(self.module.order):
            for name, _, *wait in row:
                action = self.module.actions[name]
                if wait or (action.is_send and action.sender != place) or (action.exchange and place):
                    continue
                key = action if action.is_send else self._runners.get((name, None if action.exchange else place))
                share = 1 if action.steps is None else fractions.Fraction(len(action.steps), self.module.steps)
                counts[key] = counts.get(key, 0) + share
        return [(key, count) for key, count in counts.items() if key is not None]

    def get_sent_bytes(self, action):
        """The bytes that each rank sends in an action that is a send."""
        reader = next(runner for (_, place), runner in self._runners.items() if place == action.receiver and
                      any(port.name == action.gives for port in runner.module.arguments))
        port = next(port for port in reader.module.arguments if port.name == action.gives)
        return int(np.prod(reader.get_sharding(port).shard_shape(port.stored), dtype=np.int64)) * port.dtype.itemsize

    def step(self, state, inputs):
        """Runs a step; returns the outputs and the next state.

        `state` has the arrays of `place` for every variable. Those with a new value are donated: the caller uses the arrays of the
        returned state instead. `inputs` are whole values or arrays of `place`.
        """
        missing = [name for name in self.module.variables if name not in state]
        missing += [name for name in self.module.inputs if name not in inputs]
        if missing:
            raise KeyError(f"the step needs {missing[0]}, which is not given" + (f", and {len(missing) - 1} more" if len(missing) > 1 else ""))
        fed = {name: value for name, value in inputs.items() if isinstance(value, dict)}
        fed.update(self.place({name: value for name, value in inputs.items() if name not in fed}))
        counter = self.module.counter
        number = int(state[counter.name][0]) if counter else 0
        if not 0 <= number < self.module.steps:
            raise ValueError(f"{counter.name} is {number}, and gradients are accumulated over {self.module.steps} steps")
        run = _Step(self, self._get_order(number), [{**self._accumulators[place],
                                                     **{name: places[place] for name, places in {**state, **fed}.items() if place in places}}
                                                    for place in range(len(self._groups))])
        run.run()
        for place, values in enumerate(run.values):
            self._accumulators[place] = {name: values[name] for name in self._accumulators[place]}
        following = {name: {place: run.values[place][name] for place in places} for name, places in state.items()}
        if counter:
            following[counter.name] = {0: np.asarray((number + 1) % self.module.steps, counter.dtype)}
        return run.outputs, following


class _Step:
    """One step: the values of every stage group, and how far each has come."""

    def __init__(self, runner, order, values):
        self.runner, self.order, self.values, self.outputs = runner, order, values, {}
        self._positions = [0] * len(values)
        self._arrived = {}

    def run(self):
        """Goes from stage group to stage group, one item each, so that all devices get work early."""
        rows = self.order
        while any(position < len(row) for position, row in zip(self._positions, rows)):
            before = list(self._positions)
            for place, row in enumerate(rows):
                if self._positions[place] == len(row):
                    continue
                item, dropped = row[self._positions[place]]
                if self._try(place, item):
                    for key in dropped:
                        del self.values[place][key]
                    self._positions[place] += 1
            if before == self._positions:
                place = next(place for place, row in enumerate(rows) if before[place] < len(row))
                raise RuntimeError(f"stage group {place} waits in {rows[place][before[place]][0]} for a value that no other one sends")

    def _try(self, place, item):
        """Dispatches an item; false if something that it reads is not there yet."""
        name, number, *_ = item
        action = self.runner.module.actions[name]
        if action.exchange:
            return self._exchange(place, action, number)
        if any(key not in self.values[place] for key in self.runner._get_read(place, item)):
            return False
        if action.is_send:
            if len(item) == 2 and action.sender == place:
                self._send(action, number)
        elif place in action.modules:
            self._compute(place, action, number)
        return True

    def _send(self, action, number):
        array = self.values[action.sender][self.runner._key(action.takes, number)]
        sharding = jax.sharding.NamedSharding(self.runner._meshes[action.receiver], array.sharding.spec)
        self.values[action.receiver][self.runner._key(action.gives, number)] = jax.device_put(array, sharding)

    def _compute(self, place, action, number):
        values, key = self.values[place], self.runner._key
        program = self.runner._runners[action.name, place]
        results = program.run([self.runner._numbers[place][number] if port.kind == "slice" else values[key(port.name, number)]
                               for port in program.module.arguments])
        for port, result in zip(program.module.results, results):
            if port.kind == "output":
                self.outputs.setdefault(port.name, {})[place] = result
            else:
                values[key(port.name, number)] = result

    def _exchange(self, place, action, number):
        """Runs a program of all ranks once all stage groups have arrived at it."""
        arrived = self._arrived.setdefault((action.name, number), set())
        if len(arrived) == len(self.values):
            return True
        arrived.add(place)
        # The last one runs it, and lets the others go on.
        if len(arrived) == len(self.values):
            self._run_exchange(self.runner._runners[action.name, None], number)
        return len(arrived) == len(self.values)

    def _run_exchange(self, program, number):
        def get_shape(port):
            return (port.stored[0] // len(self.values), *port.stored[1:])

        def join(port):
            shards = {}
            for place, values in enumerate(self.values):
                array = values.get(self.runner._key(port.name, number))
                if array is None:
                    # This stage group only receives.
                    array = jax.device_put(np.zeros(get_shape(port), port.dtype), make_sharding(self.runner._meshes[place], port))
                shards.update((shard.device, shard.data) for shard in array.addressable_shards)
            return jax.make_array_from_single_device_arrays(port.stored, program.get_sharding(port), [shards[device] for device in program.mesh.devices.flat])

        results = program.run([join(port) for port in program.module.arguments])
        for port, result in zip(program.module.results, results):
            shards = {shard.device: shard.data for shard in result.addressable_shards}
            for place, group in enumerate(self.runner._groups):
                self.values[place][self.runner._key(port.name, number)] = jax.make_array_from_single_device_arrays(
                    get_shape(port), make_sharding(self.runner._meshes[place], port), [shards[device] for device in group.flat])
