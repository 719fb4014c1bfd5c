# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages: compiled programs of all ranks."""
from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _native
from ._arrays import NAMES
from ._errors import CompileError, Diagnostic, InputError, StrategyError, UsageError
from ._message import text_of

# What a package's folder has beside the files that the runtime reads.
PLAN, EXPLANATION, STABLEHLO = "plan.json", "explanation.txt", "step.mlir"
# The forms of a module of StableHLO, as the C API numbers them.
FORMS = {"manual": 1, "replicas": 2}


@dataclass(frozen=True)
class Value:
    """An input, an output or a variable of a package: an array that is spread over the ranks.

    Attributes:
        name: as in the graph.
        dtype: the type of its elements: `f32`, `bf16`, `i32`, …
        shape: of the whole array.
        placement: the axes of the mesh that split it, dimension by dimension: `[["dp"], []]`.
        kind: of a variable, `parameter`, `optimizer state`, `counter`, `buffer` or `accumulator`; else `input` or `output`.
        location: the place of a variable in the graph.
        batch_dim: the dimension of an input that is the batch, if there is one.
        has_initializer: whether a variable has a rule for its first value.
        is_result: whether an output is a result of the graph itself, and not fetched beside them.
    """

    name: str
    dtype: str
    shape: Tuple[int, ...]
    placement: str
    kind: str
    location: str = ""
    batch_dim: Optional[int] = None
    has_initializer: bool = False
    is_result: bool = False


@dataclass(frozen=True)
class Evaluation:
    """The programs of a package that evaluate; `Session.evaluate` runs them.

    Attributes:
        inputs, outputs: those of an evaluation, which may be others than those of a step.
        variables: the variables of the package that it reads.
        loss: the name of the output that is the loss, if there is one.
    """

    inputs: Tuple[Value, ...]
    outputs: Tuple[Value, ...]
    variables: Tuple[Value, ...]
    loss: Optional[str]


class Package:
    """The programs of all ranks, with what runs and checks them: a folder. `meshwright.compile` makes one, `Package.open` opens one."""

    def __init__(self, folder: "str | os.PathLike", *, _temporary: Optional[tempfile.TemporaryDirectory] = None):
        self._folder, self._temporary = pathlib.Path(folder), _temporary
        library = _native.load("runtime")
        self._reports = _native.Reports()
        runtime = library.mwRuntimeCreate(self._reports.callback, None)
        path = _native.string(self._folder)
        self._handle = library.mwPackageOpen(runtime, path)
        library.mwRuntimeDestroy(runtime)
        if not self._handle.pointer:
            raise self._reports.fail(InputError, f"{self._folder} cannot be opened")
        self._finalizer = weakref.finalize(self, library.mwPackageDestroy, self._handle)
        info = _native.PackageInfo()
        library.mwPackageGetInfo(self._handle, info)
        #: The number of ranks; of steps that are accumulated into one update; the hash of all files.
        self.num_ranks: int = info.num_ranks
        self.accumulation_steps: int = info.accumulation_steps
        self.hash: int = info.hash
        #: The name of the output that is the loss, if there is one.
        self.loss: Optional[str] = str(info.loss) or None
        self.has_serial: bool = info.has_serial
        #: The axes of the mesh, the slowest first.
        self.mesh: Dict[str, int] = dict(self._axes(info.num_axes))
        self.inputs, self.outputs, self.variables = _list_values(self._handle)
        #: The programs that evaluate, if there are any.
        self.evaluation: Optional[Evaluation] = self._find_evaluation()

    @classmethod
    def open(cls, folder: "str | os.PathLike") -> "Package":
        """Opens the package in a folder. A file that is damaged, or of another version, is an `InputError`."""
        return cls(folder)

    def _axes(self, count: int):
        name, size = _native.String(), ctypes.c_int64()
        for index in range(count):
            _native.load("runtime").mwPackageGetAxis(self._handle, index, name, size)
            yield str(name), size.value

    def _find_evaluation(self) -> Optional[Evaluation]:
        library = _native.load("runtime")
        handle, info = library.mwPackageGetEvaluation(self._handle), _native.PackageInfo()
        if not handle.pointer:
            return None
        try:
            library.mwPackageGetInfo(handle, info)
            return Evaluation(*_list_values(handle), str(info.loss) or None)
        finally:
            library.mwPackageDestroy(handle)

    @property
    def folder(self) -> pathlib.Path:
        """The package's folder, a temporary one if `compile` was given none."""
        return self._folder

    @functools.cached_property
    def plan(self) -> Dict[str, Any]:
        """The plan: mesh, variables, and every conversion with its bytes and its reason."""
        return json.loads(self._read(PLAN))

    def explain(self) -> str:
        """The plan as text that says of every communication why it is there."""
        return self._read(EXPLANATION)

    @property
    def stablehlo(self) -> str:
        """The partitioned step as StableHLO text, which `meshwright.jax.module_runner` runs, or of a pipeline
        `meshwright.jax.pipeline_runner`. `meshwright.compile` writes it if it is asked to."""
        return self._read(STABLEHLO)

    def _read(self, name: str) -> str:
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"{self._folder} has no {name}; meshwright.compile writes it, dist-opt does with --plan and --explain") from None

    def save(self, path: "str | os.PathLike") -> "Package":
        """Copies the package to a folder that is not there yet or is empty, and returns that one."""
        target = pathlib.Path(path)
        if target.exists() and any(target.iterdir()):
            raise InputError(f"{target} is not empty; a package is saved to a folder of its own")
        shutil.copytree(self._folder, target, dirs_exist_ok=True)
        return Package(target)

    def __repr__(self) -> str:
        mesh = " x ".join(f"{name}={size}" for name, size in self.mesh.items()) or "1 rank"
        return f"<Package of {mesh}: {len(self.variables)} variables, {len(self.inputs)} inputs, {len(self.outputs)} outputs>"


def _list_values(handle: _native.Handle) -> Tuple[Tuple[Value, ...], Tuple[Value, ...], Tuple[Value, ...]]:
    """The inputs, outputs and variables of a package."""

    def list_kind(kind: int):
        info, index = _native.ValueInfo(), 0
        while _native.load("runtime").mwPackageGetValue(handle, kind, index, info):
            yield Value(str(info.name), NAMES[info.type], tuple(info.shape[: info.num_dims]), str(info.placement),
                        str(info.variable_kind) or ("input", "output")[kind], str(info.location), info.batch_dim if info.batch_dim >= 0 and
                        kind == _native.INPUT else None, info.has_initializer, info.is_result)
            index += 1

    inputs, outputs, variables = (tuple(list_kind(kind)) for kind in (_native.INPUT, _native.OUTPUT, _native.VARIABLE))
    return inputs, outputs, variables


def compile(graph: Any, strategy: Any = None, *, path: "str | os.PathLike | None" = None, name: Optional[str] = None, ranks: int = 0,
            targets: Union[str, Sequence[str]] = (), kernel_cache: "str | os.PathLike | None" = None, optimize: bool = True,
            progress: Optional[Callable[[str], Any]] = None, stablehlo: Optional[str] = None, evaluation: Any = None) -> Package:
    """Compiles a serial graph into a distributed package.

    Args:
        graph: StableHLO text; a path (`pathlib.Path`) of such a file; or what `jax.jit(f).lower(...)` returns.
        strategy: everything but the graph: text in protobuf's text format, a path (`pathlib.Path`) of such a file, a dictionary with the
            schema's fields, or a `meshwright.strategy.Strategy`. Without one the graph runs as it is on one rank.
        path: the folder of the package, which is made; a temporary one if it is left out, which goes with the package.
        name: how diagnostics call the graph.
        ranks: the number of ranks, for a mesh that has an axis of size 0.
        targets: the targets of the package's kernels: `x86-64-v3` (the default), `native`, `sm_90`, …
        kernel_cache: a folder of compiled kernels.
        optimize: False to skip the passes of the stage Optimize.
        progress: called with the name of each stage before it begins; False ends the compilation with an error.
        evaluation: the graph that `Session.evaluate` runs, like `graph`; without one it is the forward part of `graph` if the strategy says
            `eval`.
        stablehlo: the form, `manual` or `replicas`, in which the folder gets the partitioned step as StableHLO, too; see `Package.stablehlo`.

    Raises:
        StrategyError, CompileError: with the text and the place of what is wrong.
    """
    if stablehlo is not None and stablehlo not in FORMS:
        raise UsageError(f"there is no form \"{stablehlo}\" of StableHLO; there are {', '.join(FORMS)}")
    text, name = _read_graph(graph, name)
    evaluated = ("", "") if evaluation is None else _read_graph(evaluation, None if hasattr(evaluation, "__fspath__") else "evaluation")
    rules, rules_name = _read_strategy(strategy)
    temporary = tempfile.TemporaryDirectory(prefix="meshwright-") if path is None else None
    folder = pathlib.Path(path) if path is not None else pathlib.Path(temporary.name if temporary else "") / "package"
    stopped: List[bool] = []
    call = functools.partial(_compile, text, name, rules, rules_name, folder, ranks, [targets] if isinstance(targets, str) else list(targets),
                             kernel_cache or os.environ.get("MESHWRIGHT_KERNEL_CACHE", ""), optimize, progress, stopped, FORMS.get(stablehlo, 0), evaluated)
    if _native.is_interruptible():
        worker = _native.Worker()
        try:
            found = worker.run(call, lambda: stopped.append(True))
        finally:
            worker.stop()
    else:
        found = call()
    _native.warn(found, 3)
    return Package(folder, _temporary=temporary)


def _read_graph(graph: Any, name: Optional[str]) -> Tuple[str, str]:
    if isinstance(graph, os.PathLike):
        path = os.fspath(graph)
        return _read_file(path, CompileError), name or path
    if hasattr(graph, "as_text"):
        return graph.as_text(debug_info=True), name or "graph"
    if not isinstance(graph, str):
        raise TypeError(f"a graph is StableHLO text, a pathlib.Path or what jax.jit(f).lower(...) returns, but not a {type(graph).__name__}")
    if "\n" not in graph and os.path.exists(graph):
        raise CompileError(f"a graph is given as text, but \"{graph}\" is the name of a file; pathlib.Path(\"{graph}\") would be its path")
    return graph, name or "graph"


def _read_strategy(strategy: Any) -> Tuple[Optional[str], str]:
    if isinstance(strategy, os.PathLike):
        path = os.fspath(strategy)
        return _read_file(path, StrategyError), path
    return (None if strategy is None else text_of(strategy)), "strategy"


def _read_file(path: str, error: type) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as reason:
        raise error(f"cannot read {path}: {reason}") from None


def _compile(text, name, rules, rules_name, folder, ranks, targets, kernel_cache, optimize, progress, stopped, form,
             evaluated) -> List[Diagnostic]:
    """Compiles in a context of its own."""
    library, reports = _native.load("compiler"), _native.Reports()
    failures = []

    def enter(stage: _native.String, _: Any) -> bool:
        try:
            if progress and not stopped and progress(str(stage)) is False:
                stopped.append(True)
        except BaseException as error:  # goes on where the compilation ends
            failures.append(error)
        return not stopped and not failures

    context = library.mwContextCreate(reports.callback, None)
    strategy, compiled = _native.Handle(), _native.Handle()
    options = _native.CompileOptions()
    keep = [_native.string(str(folder)), _native.string(",".join(targets)), _native.string(kernel_cache), _native.ProgressCallback(enter)]
    options.emit, options.targets, options.kernel_cache, options.progress = keep
    options.skips_optimize, options.stablehlo = not optimize, form
    options.evaluation, options.evaluation_name = _texts(keep, *evaluated)
    try:
        if rules is not None:
            strategy = library.mwStrategyParse(context, *_texts(keep, rules, rules_name), ranks)
            if not strategy.pointer:
                raise reports.fail(StrategyError, "the strategy cannot be read")
        compiled = library.mwCompile(context, *_texts(keep, text, name), strategy, options)
        if failures:
            raise failures[0]
        if not compiled.pointer:
            raise reports.fail(CompileError, "the graph cannot be compiled")
        files = [(PLAN, library.mwCompiledGetPlan), (EXPLANATION, library.mwCompiledGetExplanation)]
        for file, get in files + ([(STABLEHLO, library.mwCompiledGetStableHLO)] if form else []):
            (folder / file).write_text(str(get(compiled)), encoding="utf-8")
    finally:
        library.mwCompiledDestroy(compiled)
        library.mwStrategyDestroy(strategy)
        library.mwContextDestroy(context)
    return reports.take("warning")


def _texts(keep: list, *texts: str):
    made = [_native.string(text) for text in texts]
    keep.append(made)
    return made
