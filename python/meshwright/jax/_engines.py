# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines that run a distributed step. An engine is made of a package and the first values of variables by name; it has `step`, which takes
inputs and returns outputs by name, and `get`, which returns a variable."""
from __future__ import annotations

from typing import Any, ClassVar, Dict, Mapping

import numpy as np

from .._errors import InputError
from .._package import Package
from .._session import Session
from .module_runner import Module, Runner
from .pipeline_runner import Pipeline, PipelineRunner, is_pipeline


class RuntimeEngine:
    """Ranks are threads of this process, in Meshwright's runtime."""

    #: The options of `meshwright.compile` that it needs.
    options: ClassVar[Dict[str, Any]] = {}

    def __init__(self, package: Package, initial: Mapping[str, np.ndarray], threads: int):
        self.session = Session(package, init=initial, threads=threads)

    def step(self, feeds: Mapping[str, Any]) -> Dict[str, np.ndarray]:
        return self.session.step(feeds)

    def get(self, name: str) -> np.ndarray:
        return self.session.variables[name]


class JaxEngine:
    """Ranks are devices of JAX, which runs the partitioned step as one module of StableHLO, or one per action of a pipeline."""

    options: ClassVar[Dict[str, Any]] = {"stablehlo": "manual"}

    def __init__(self, package: Package, initial: Mapping[str, np.ndarray], threads: int):
        text = package.stablehlo
        module: Any = Pipeline(text) if is_pipeline(text) else Module(text)
        # What a strategy's train adds begins at a constant, which the module states.
        values = {name: np.full(port.shape, port.init, port.dtype) for name, port in module.variables.items() if port.init is not None}
        values.update((name, value) for name, value in initial.items() if name in module.variables)
        missing = [name for name in module.variables if name not in values]
        if missing:
            raise InputError(f"{missing[0]} has no first value, as {len(missing)} variables; give a constant one by `init` in the strategy")
        self._runner: Any = PipelineRunner(module) if is_pipeline(text) else Runner(module)
        self._state = self._runner.place(values)

    def step(self, feeds: Mapping[str, Any]) -> Dict[str, np.ndarray]:
        outputs, self._state = self._runner.step(self._state, feeds)
        return self._runner.read(outputs)

    def get(self, name: str) -> np.ndarray:
        return self._runner.read({name: self._state[name]})[name]


ENGINES = {"meshwright": RuntimeEngine, "jax": JaxEngine}
