# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: packages while they run."""
from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, MutableMapping, Optional, Sequence, Union

import numpy as np

from . import _native
from ._arrays import dtype_of, to_native, to_numpy
from ._errors import InputError, UsageError
from ._package import Evaluation, Package, Value


class Variables(MutableMapping):
    """The variables of a session by name, as whole arrays of numpy. Reading one makes an array and gathers the parts of the ranks in it;
    assigning one copies an array's parts to the ranks. A variable cannot be added or deleted."""

    def __init__(self, session: "Session"):
        # The session has the variables.
        self._session = weakref.proxy(session)
        self._package = session.package
        self._numbers = {value.name: number for number, value in enumerate(session.package.variables)}

    def _find(self, name: str) -> int:
        try:
            return self._numbers[name]
        except KeyError:
            raise KeyError(f"no variable of the package is called \"{name}\"; it has {_some(self._numbers)}") from None

    def __getitem__(self, name: str) -> np.ndarray:
        number = self._find(name)
        return self._session._get(self._session._open(), _native.VARIABLE, number, self._package.variables[number])

    def __setitem__(self, name: str, value: Any) -> None:
        number = self._find(name)
        array = to_numpy(value, self._package.variables[number].dtype, f'variable "{name}"')
        arrays, keep = to_native({name: array})
        self._session._call("mwSessionSetVariable", number, arrays)
        del keep

    def __delitem__(self, name: str) -> None:
        raise TypeError("the variables of a package cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def view(self, name: str) -> Optional[np.ndarray]:
        """The array of a variable where a rank keeps it, without a copy: read-only, and changed by the next step. None if no rank has all
        of it. It can be handed on by DLPack (`__dlpack__`)."""
        return self._session._view(self._find(name))


class Session:
    """A package that runs: its ranks are threads of this process.

    Args:
        package: a `Package`, or the path of one.
        init: the first values of variables: the path of a safetensors file, or arrays by name. Variables that it leaves out take the
            strategy's initializers.
        seed: of the initializers.
        device: `cpu`, or `cuda`.
        threads: of each rank; 0 for its share of the cores.
        serial: run the serial program of the package instead, on one rank.
        target: the target of the kernels, for a package that has several.
        timeout: the seconds after which a step in which nothing moves has failed.

    A session belongs to one thread at a time. It ends with `close`, at the end of a `with`, or with its last reference.
    """

    def __init__(self, package: "Package | str | os.PathLike", *, init: "Mapping[str, Any] | str | os.PathLike | None" = None, seed: int = 0,
                 device: str = "cpu", threads: int = 0, serial: bool = False, target: str = "", timeout: float = 600):
        self.package = package if isinstance(package, Package) else Package(package)
        self._library = _native.load("runtime")
        self._reports = self.package._reports
        self._options = (device, target, threads, serial, timeout)
        self._state: Optional[_State] = self._create()
        # Evaluates in the memory of `_state`, once it is asked to.
        self._evaluating: Optional[_State] = None
        #: The variables, by name.
        self.variables = Variables(self)
        self.initialize(init, seed)

    def _create(self) -> "_State":
        options = _native.SessionOptions()
        device, target, options.threads, options.is_serial, options.timeout_seconds = self._options
        keep = [_native.string(device), _native.string(target)]
        options.device, options.target = keep
        handle = self._library.mwSessionCreate(self.package._handle, options)
        if not handle.pointer:
            raise self._reports.fail(UsageError, "no session can be made of the package")
        _native.warn(self._reports.take("warning"), 4)
        return _State(self._library, handle)

    def _renew(self) -> None:
        """Ranks of which a step has failed are replaced by new ones. Views keep the memory of the old ones."""
        if self._state is not None and self._state.has_failed:
            self._state, self._evaluating = self._create(), None

    def initialize(self, init: "Mapping[str, Any] | str | os.PathLike | None" = None, seed: int = 0) -> None:
        """Gives all variables their first values, as the arguments of the same names do when a session is made."""
        self._renew()
        path, arrays = "", {}
        if isinstance(init, Mapping):
            dtypes = {value.name: value.dtype for value in self.package.variables}
            arrays = {name: to_numpy(value, dtypes.get(name, "f32"), f'initial value "{name}"') for name, value in init.items()}
        elif init is not None:
            path = os.fspath(init)
        native, keep = to_native(arrays)
        self._call("mwSessionInitialize", _native.string(path), native, len(arrays), seed)
        del keep

    def step(self, feeds: Optional[Mapping[str, Any]] = None, *, outputs: Optional[Sequence[str]] = None) -> Dict[str, np.ndarray]:
        """Runs one step.

        Args:
            feeds: the inputs by name: arrays of numpy, or of whatever exchanges arrays by DLPack or `__array__`; numbers and lists.
            outputs: the names of the outputs to return; all that the step knows, if it is left out.

        Returns:
            The outputs by name.

        A `KeyboardInterrupt` ends the step; the variables then need values again, by `initialize` or `restore`.
        """
        self._open()
        assert self._state is not None, "an open session has a state"
        return self._do(self._state, self.package, feeds, outputs)

    def evaluate(self, feeds: Optional[Mapping[str, Any]] = None, *, outputs: Optional[Sequence[str]] = None) -> Dict[str, np.ndarray]:
        """Runs the programs of the package that evaluate (`Package.evaluation`) on one batch and the variables as they are, of which none
        changes.

        Args:
            feeds: the inputs of the evaluation by name, as those of `step`.
            outputs: the names of its outputs to return; all, if it is left out.

        Returns:
            The outputs by name.

        After an error the session goes on, and so does training after a `KeyboardInterrupt`.
        """
        handle = self._open()
        evaluation = self.package.evaluation
        if self._evaluating is None or self._evaluating.has_failed:
            made = self._library.mwSessionCreateEvaluation(handle)
            if not made.pointer:
                raise self._reports.fail(UsageError, "the package has nothing to evaluate")
            _native.warn(self._reports.take("warning"), 3)
            self._evaluating = _State(self._library, made)
        assert evaluation is not None, "there is a session of it"
        return self._do(self._evaluating, evaluation, feeds, outputs)

    def _do(self, state: "_State", programs: "Package | Evaluation", feeds: Optional[Mapping[str, Any]],
            outputs: Optional[Sequence[str]]) -> Dict[str, np.ndarray]:
        """Runs one step of programs that have these values."""
        dtypes = {value.name: value.dtype for value in programs.inputs}
        arrays = {name: to_numpy(value, dtypes.get(name, "f32"), f'input "{name}"') for name, value in (feeds or {}).items()}
        native, keep = to_native(arrays)
        self._run(state, lambda: self._library.mwSessionStep(state.handle, native, len(arrays)))
        del keep
        numbers = {value.name: number for number, value in enumerate(programs.outputs)}
        if outputs is None:
            outputs = [name for name, number in numbers.items() if self._library.mwSessionIsKnown(state.handle, number)]
        for name in outputs:
            if name not in numbers:
                raise UsageError(f"no output of the package is called \"{name}\"; it has {_some(numbers)}")
        return {name: self._get(state.handle, _native.OUTPUT, numbers[name], programs.outputs[numbers[name]]) for name in outputs}

    def run(self, batches: Iterable[Mapping[str, Any]], *, outputs: Optional[Sequence[str]] = None,
            progress: Optional[Callable[[int, Dict[str, np.ndarray]], Any]] = None) -> Iterator[Dict[str, np.ndarray]]:
        """Runs a step for every batch, and yields its outputs; calls `progress` with the number of steps done and the outputs."""
        for batch in batches:
            result = self.step(batch, outputs=outputs)
            if progress:
                progress(self.steps, result)
            yield result

    def interrupt(self) -> None:
        """Ends the step or the evaluation that another thread runs; does nothing between them."""
        for state in (self._state, self._evaluating):
            if state is not None:
                self._library.mwSessionInterrupt(state.handle)

    @property
    def steps(self) -> int:
        """The number of steps that were done since the first values."""
        return self._library.mwSessionGetStep(self._open())

    def save(self, path: "str | os.PathLike") -> None:
        """Writes all variables to a safetensors file."""
        self._call("mwSessionSave", _native.string(path))

    def save_checkpoint(self, folder: "str | os.PathLike", *, keep: int = 3) -> None:
        """Writes a checkpoint, from which a session of any mesh can go on, into a folder that keeps the last `keep` ones."""
        self._call("mwSessionSaveCheckpoint", _native.string(folder), keep)

    def restore(self, path: "str | os.PathLike") -> None:
        """Goes on from a checkpoint, or from the newest one in a folder."""
        self._renew()
        self._call("mwSessionRestore", _native.string(path))

    def close(self) -> None:
        """Ends the ranks of the session, and frees their memory as soon as no view of it is left."""
        self._state = self._evaluating = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open(self) -> _native.Handle:
        if self._state is None:
            raise UsageError("the session is closed")
        if self._state.has_failed:
            raise UsageError("a step of the session has failed; `initialize` or `restore` gives its variables values again")
        return self._state.handle

    def _call(self, function: str, *arguments: Any) -> None:
        self._reports.check(getattr(self._library, function)(self._open(), *arguments))

    def _run(self, state: "_State", call: Callable[[], int]) -> None:
        """A call that takes long, in which signals reach Python."""
        try:
            if not _native.is_interruptible():
                return self._reports.check(call())
            state.worker = worker = state.worker or _native.Worker()
            worker.run(lambda: self._reports.check(call()), lambda: self._library.mwSessionInterrupt(state.handle))
        except (InputError, UsageError):
            raise
        except BaseException:
            state.has_failed = True
            raise
        return None

    def _get(self, handle: _native.Handle, kind: int, number: int, value: Value) -> np.ndarray:
        array = np.empty(value.shape, dtype_of(value.dtype))
        self._reports.check(self._library.mwSessionGetValue(handle, kind, number, array.ctypes.data, array.nbytes))
        return array

    def _view(self, number: int) -> Optional[np.ndarray]:
        value = self.package.variables[number]
        dtype = dtype_of(value.dtype)
        address = self._library.mwSessionGetView(self._open(), _native.VARIABLE, number)
        if not address:
            return None
        count = int(np.prod(value.shape, dtype=np.int64))
        memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
        memory.session = self._state  # the memory is there as long as the array
        array = np.frombuffer(memory, dtype, count).reshape(value.shape)
        array.flags.writeable = False
        return array


class _State:
    """The object of the C API, which is destroyed when the session and all views of its memory are gone."""

    def __init__(self, library: ctypes.CDLL, handle: _native.Handle):
        self.handle, self.has_failed = handle, False
        self._workers: List[_native.Worker] = []
        weakref.finalize(self, _destroy, library, handle, self._workers)

    @property
    def worker(self) -> Optional[_native.Worker]:
        """The thread that makes its long calls, once there is one."""
        return self._workers[0] if self._workers else None

    @worker.setter
    def worker(self, worker: _native.Worker) -> None:
        self._workers[:] = [worker]


def _destroy(library: ctypes.CDLL, handle: _native.Handle, workers: List[_native.Worker]) -> None:
    # A step that has not ended still uses the session.
    if any(worker.is_busy for worker in workers):
        return
    for worker in workers:
        worker.stop()
    library.mwSessionDestroy(handle)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "") if listed else "none"
