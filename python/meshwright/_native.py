# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C API (meshwright-c/Compiler.h and Runtime.h) by ctypes: its structures and functions, and its errors as exceptions.

The libraries are those of the wheel, in the folder `lib` beside this file; or of a build, in the folder that MESHWRIGHT_LIBRARIES
names, else in build/release/lib of the source tree. Each is loaded when it is first needed.
"""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import threading
import warnings
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type

from ._errors import Diagnostic, Error, FaultError, InputError, MeshwrightWarning, UsageError


class String(Structure):
    """Text of a length in bytes."""

    _fields_ = [("data", POINTER(c_char)), ("length", c_size_t)]

    def __str__(self) -> str:
        return ctypes.string_at(self.data, self.length).decode("utf-8", "replace") if self.length else ""


def string(text: "str | os.PathLike") -> String:
    """A text for the length of a call; the returned object keeps its bytes."""
    data = os.fspath(text).encode("utf-8", "surrogateescape")
    made = String(ctypes.cast(c_char_p(data), POINTER(c_char)), len(data))
    made.keep = data
    return made


class Handle(Structure):
    """An object of the C API."""

    _fields_ = [("pointer", c_void_p)]


DiagnosticCallback = CFUNCTYPE(None, c_int, String, String, c_int64, c_int64, c_void_p)
ProgressCallback = CFUNCTYPE(c_bool, String, c_void_p)


class CompileOptions(Structure):
    _fields_ = [("last_stage", String), ("skips_optimize", c_bool), ("emit", String), ("targets", String), ("kernel_cache", String),
                ("progress", ProgressCallback), ("progress_data", c_void_p), ("stablehlo", c_int), ("evaluation", String), ("evaluation_name", String)]


class PackageInfo(Structure):
    _fields_ = [("num_ranks", c_int64), ("num_axes", c_size_t), ("accumulation_steps", c_uint32), ("has_serial", c_bool), ("hash", c_uint64),
                ("loss", String), ("producer", String)]


class ValueInfo(Structure):
    _fields_ = [("name", String), ("type", c_int), ("shape", POINTER(c_int64)), ("num_dims", c_size_t), ("bytes", c_uint64),
                ("placement", String), ("variable_kind", String), ("location", String), ("has_initializer", c_bool), ("is_result", c_bool),
                ("is_of_update", c_bool), ("batch_dim", c_int64)]


class Array(Structure):
    _fields_ = [("name", String), ("type", c_int), ("shape", POINTER(c_int64)), ("num_dims", c_size_t), ("data", c_void_p)]


class SessionOptions(Structure):
    _fields_ = [("device", String), ("target", String), ("threads", c_int32), ("is_serial", c_bool), ("timeout_seconds", c_double)]


INPUT, OUTPUT, VARIABLE = range(3)

COMPILER: Dict[str, Tuple[Any, List[Any]]] = {
    "mwGetVersion": (String, []),
    "mwContextCreate": (Handle, [DiagnosticCallback, c_void_p]),
    "mwContextDestroy": (None, [Handle]),
    "mwStrategyParse": (Handle, [Handle, String, String, c_int64]),
    "mwStrategyDestroy": (None, [Handle]),
    "mwCompile": (Handle, [Handle, String, String, Handle, POINTER(CompileOptions)]),
    "mwCompiledDestroy": (None, [Handle]),
    "mwCompiledGetText": (String, [Handle]),
    "mwCompiledGetPlan": (String, [Handle]),
    "mwCompiledGetExplanation": (String, [Handle]),
    "mwCompiledGetStableHLO": (String, [Handle]),
}
RUNTIME: Dict[str, Tuple[Any, List[Any]]] = {
    "mwElementTypeGetName": (String, [c_int]),
    "mwRuntimeCreate": (Handle, [DiagnosticCallback, c_void_p]),
    "mwRuntimeDestroy": (None, [Handle]),
    "mwPackageOpen": (Handle, [Handle, String]),
    "mwPackageDestroy": (None, [Handle]),
    "mwPackageGetInfo": (None, [Handle, POINTER(PackageInfo)]),
    "mwPackageGetAxis": (c_bool, [Handle, c_size_t, POINTER(String), POINTER(c_int64)]),
    "mwPackageGetValue": (c_bool, [Handle, c_int, c_size_t, POINTER(ValueInfo)]),
    "mwPackageGetEvaluation": (Handle, [Handle]),
    "mwSessionCreate": (Handle, [Handle, POINTER(SessionOptions)]),
    "mwSessionCreateEvaluation": (Handle, [Handle]),
    "mwSessionDestroy": (None, [Handle]),
    "mwSessionInitialize": (c_int, [Handle, String, POINTER(Array), c_size_t, c_uint64]),
    "mwSessionStep": (c_int, [Handle, POINTER(Array), c_size_t]),
    "mwSessionInterrupt": (None, [Handle]),
    "mwSessionGetStep": (c_uint64, [Handle]),
    "mwSessionIsKnown": (c_bool, [Handle, c_size_t]),
    "mwSessionGetValue": (c_int, [Handle, c_int, c_size_t, c_void_p, c_size_t]),
    "mwSessionGetView": (c_void_p, [Handle, c_int, c_size_t]),
    "mwSessionSetVariable": (c_int, [Handle, c_size_t, POINTER(Array)]),
    "mwSessionSave": (c_int, [Handle, String]),
    "mwSessionSaveCheckpoint": (c_int, [Handle, String, c_uint64]),
    "mwSessionRestore": (c_int, [Handle, String]),
}


def find_library(name: str) -> str:
    """The path of `libmeshwright_<name>.so`; in a wheel one library has all."""
    here = pathlib.Path(__file__).resolve().parent
    given = os.environ.get("MESHWRIGHT_LIBRARIES")
    places = [pathlib.Path(given) / f"libmeshwright_{name}.so"] if given else []
    places += [here / "lib" / "libmeshwright.so", here.parents[1] / "build" / "release" / "lib" / f"libmeshwright_{name}.so"]
    for place in places:
        if place.exists():
            return str(place)
    raise ImportError(f"libmeshwright_{name}.so is not in {places[0].parent}; build it, or install the wheel")


@functools.lru_cache(maxsize=None)
def load(name: str) -> ctypes.CDLL:
    """The library of the `compiler` or the `runtime`, with its functions declared."""
    library = ctypes.CDLL(find_library(name))
    functions: Dict[str, Tuple[Any, List[Any]]] = COMPILER if name == "compiler" else RUNTIME
    for function, (result, arguments) in functions.items():
        declared = getattr(library, function)
        declared.restype, declared.argtypes = result, arguments
    return library


class Reports:
    """Takes diagnostics of objects of the C API, whose callback is `callback`, until they are raised. They come, and are taken, on the thread
    that made the call."""

    SEVERITIES = ("remark", "warning", "error")

    def __init__(self) -> None:
        self._local = threading.local()
        self.callback = DiagnosticCallback(self._add)

    def _add(self, severity: int, message: String, file: String, line: int, column: int, _: Any) -> None:
        self._local.__dict__.setdefault("diagnostics", []).append(Diagnostic(self.SEVERITIES[severity], str(message), str(file), line, column))

    def take(self, severity: str) -> List[Diagnostic]:
        """The diagnostics of a severity; all others are dropped."""
        found = self._local.__dict__.pop("diagnostics", [])
        return [diagnostic for diagnostic in found if diagnostic.severity == severity]

    def fail(self, error: Type[Error], default: str) -> Error:
        """The error of what was reported."""
        return error(default, self.take("error"))

    def check(self, status: int) -> None:
        """Raises what a status says, and hands warnings to Python."""
        if status:
            raise self.fail({1: InputError, 2: UsageError}.get(status, FaultError), f"the runtime failed with status {status}")
        warn(self.take("warning"), 5)


def warn(found: Sequence[Diagnostic], level: int) -> None:
    """Hands warnings to Python, as those of the caller so many levels up."""
    for diagnostic in found:
        warnings.warn(str(diagnostic), MeshwrightWarning, stacklevel=level)


class Worker:
    """A thread that makes long calls, so that the main thread can be interrupted while it waits for one."""

    def __init__(self) -> None:
        self.wanted, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.call: Optional[Callable[[], Any]] = None
        self.result: Any = None
        self.error: Optional[BaseException] = None
        # True while a call has not ended, even where its caller did not wait for it.
        self.is_busy = False
        threading.Thread(target=self._serve, args=(self.wanted, self.done), daemon=True, name="meshwright").start()

    def _serve(self, wanted: threading.Semaphore, done: threading.Semaphore) -> None:
        while True:
            wanted.acquire()
            call, self.call = self.call, None
            if call is None:
                return
            try:
                self.result, self.error = call(), None
            except BaseException as error:  # pylint: disable=broad-except
                self.result, self.error = None, error
            del call
            self.is_busy = False
            done.release()

    def run(self, call: Callable[[], Any], interrupt: Callable[[], None]) -> Any:
        """The result of `call`. An exception that a signal raises meanwhile calls `interrupt` until the call has ended, and goes on; a second
        one does not wait."""
        self.call, self.is_busy = call, True
        self.wanted.release()
        try:
            self.done.acquire()
        except BaseException:
            interrupt()
            while not self.done.acquire(timeout=0.05):
                interrupt()
            raise
        result, error, self.result, self.error = self.result, self.error, None, None
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        self.call = None
        self.wanted.release()


def is_interruptible() -> bool:
    """True on the thread to which Python delivers signals."""
    return threading.current_thread() is threading.main_thread()
