# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors and warnings of the compiler and the runtime as Python has them."""
from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence


class Diagnostic(NamedTuple):
    """A message and its place: `file` is empty and `line` and `column` are 0 where it has none."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.file:
            return self.message
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}"


class Error(Exception):
    """An error of Meshwright. `str()` is the text of all its diagnostics with their places.

    Attributes:
        diagnostics: all errors that were reported, the first one first.
        message, file, line, column: the first one, with its notes in further lines.
    """

    def __init__(self, message: str, diagnostics: Optional[Sequence[Diagnostic]] = None):
        self.diagnostics: List[Diagnostic] = list(diagnostics) if diagnostics else [Diagnostic("error", message)]
        first = self.diagnostics[0]
        self.message, self.file, self.line, self.column = first.message, first.file, first.line, first.column
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))

    def __reduce__(self):
        return (type(self), (self.message, self.diagnostics))


class StrategyError(Error, ValueError):
    """A strategy that cannot be read."""


class CompileError(Error, ValueError):
    """A graph or a strategy that cannot be compiled."""


class InputError(Error, ValueError):
    """A package, a file or a value that cannot be taken: a wrong type, shape, name or number."""


class UsageError(Error, ValueError):
    """A call that cannot be made so: a missing input, an unknown device, a value that is not known yet."""


class FaultError(Error, RuntimeError):
    """Something that broke while a program ran."""


class MeshwrightWarning(UserWarning):
    """A warning of the compiler or the runtime."""
