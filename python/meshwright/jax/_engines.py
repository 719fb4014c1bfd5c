# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines that run a distributed step. An engine is made of a package and the first values of variables by name; it has `step`, which takes
inputs and returns outputs by name, and `get`, which returns a variable."""
from __future__ import annotations

from typing import Any, ClassVar, Dict, Mapping

import numpy as np

from .._package import Package
from .._session import Session


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


ENGINES = {"meshwright": RuntimeEngine}
