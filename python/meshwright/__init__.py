# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles serial training graphs into distributed programs, and runs them.

    import meshwright

    package = meshwright.compile(pathlib.Path("model.mlir"), {"mesh": {"axes": {"name": "dp", "size": 4}}, "data": {"axes": "dp"}})
    print(package.explain())
    session = meshwright.Session(package)
    outputs = session.step({"x": x, "y": y})

`meshwright.jax` and `meshwright.torch` take training steps of these frameworks.
"""
from . import safetensors, strategy
from ._errors import CompileError, Diagnostic, Error, FaultError, InputError, MeshwrightWarning, StrategyError, UsageError
from ._package import Evaluation, Package, Value, compile
from ._session import Session, Variables

__version__ = "0.1.0"
__all__ = ["CompileError", "Diagnostic", "Error", "Evaluation", "FaultError", "InputError", "MeshwrightWarning", "Package", "Session", "StrategyError",
           "UsageError", "Value", "Variables", "compile", "safetensors", "strategy"]
