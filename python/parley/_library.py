"""Finds and loads libparley; calls that raise; helpers between Python and C values."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Type, TypeVar

import numpy as np

from . import _abi as c
from .errors import ParleyError

NAMES = ("libparley.so.0", "libparley.so")
_loaded: Optional[Library] = None
S = TypeVar("S", bound=ctypes.Structure)


class Library:
    """The functions of libparley, with their prototypes."""

    def __init__(self, path: str) -> None:
        self._dll = ctypes.CDLL(path)
        self.path = path
        for name, (result, arguments) in c.FUNCTIONS.items():
            try:
                function = getattr(self._dll, name)
            except AttributeError:
                raise ParleyError("missing", f"{path}: no function {name}; this package is for version {wanted_version()}") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        found = self.parley_version().decode()
        if found.split(".")[:2] != wanted_version().split(".")[:2]:
            raise ParleyError("unsupported", f"{path}: version {found}, this package is for {wanted_version()}")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"libparley has no function {name}")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function whose last parameter is the error; raises what it reports."""
        error = c.parley_error()
        if getattr(self, name)(*arguments, ctypes.byref(error)) != c.PARLEY_OK:
            raise self.failure(error)

    def failure(self, error: c.parley_error) -> ParleyError:
        name = self.parley_status_name(error.status).decode()
        return ParleyError(name, error.text.decode("utf-8", "replace"), error.position, self.parley_status_http(error.status))

    def finish(self, value: int) -> str:
        return self.parley_finish_name(value).decode()


def wanted_version() -> str:
    return f"{c.PARLEY_VERSION_MAJOR}.{c.PARLEY_VERSION_MINOR}.{c.PARLEY_VERSION_PATCH}"


def load(path: Optional[str] = None) -> Library:
    """Loads libparley: from `path`, else from the environment's PARLEY_LIBRARY, else as the system's loader finds it. One library a process: later
    calls give it again, and one that names another file fails."""
    global _loaded
    if _loaded is not None:
        if path is not None and not same_file(path, _loaded.path):
            raise ParleyError("state", f"{path}: {_loaded.path} is loaded already")
        return _loaded
    given = path or os.environ.get("PARLEY_LIBRARY")
    faults = []
    for name in (given,) if given else NAMES:
        try:
            _loaded = Library(os.fspath(name))
            return _loaded
        except OSError as fault:
            faults.append(str(fault))
    raise ParleyError("missing", "libparley cannot be loaded (name it by PARLEY_LIBRARY or parley.load): " + "; ".join(faults))


def same_file(a: str, b: str) -> bool:
    return os.fspath(a) == b or (os.path.exists(a) and os.path.exists(b) and os.path.samefile(a, b))


def structure(kind: Type[S]) -> S:
    """A structure that starts with its own size."""
    return kind(size=ctypes.sizeof(kind))


def text(value: str, what: str) -> bytes:
    """UTF-8 for a parameter that ends with a NUL."""
    if "\0" in value:
        raise ValueError(f"{what}: holds a NUL character")
    return value.encode()


def samples(pcm: Any) -> np.ndarray:
    """float32 [n], contiguous: integers are scaled by their full range, channels [n][channels] averaged."""
    array = np.asarray(pcm)
    if array.ndim == 2:
        array = array.mean(axis=1) if array.dtype.kind == "f" else array.astype(np.float64).mean(axis=1) / full_scale(array.dtype)
    elif array.ndim != 1:
        raise ValueError(f"pcm: expected [samples] or [samples][channels], got {array.ndim} dimensions")
    elif array.dtype.kind != "f":
        array = array.astype(np.float64) / full_scale(array.dtype)
    return np.ascontiguousarray(array, dtype=np.float32)


def full_scale(kind: np.dtype) -> float:
    if kind.kind != "i":
        raise ValueError(f"pcm: expected floating point or signed integers, got {kind}")
    return float(np.iinfo(kind).max) + 1.0


def floats(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def ints(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))


def copied(pointer: Any, shape: Any, kind: Any) -> np.ndarray:
    """A NumPy copy of C memory; empty where there is none."""
    size = int(np.prod(shape))
    if not pointer or size == 0:
        return np.zeros(shape, kind)
    return np.ctypeslib.as_array(pointer, shape=(size,)).astype(kind, copy=True).reshape(shape)


def code_rows(codes: Any, groups: int) -> np.ndarray:
    """int32 [frames][groups], contiguous."""
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] != groups or array.dtype.kind not in "iu":
        raise ValueError(f"codes: expected integers [frames][{groups}], got {array.dtype} {list(array.shape)}")
    return np.ascontiguousarray(array, dtype=np.int32)
