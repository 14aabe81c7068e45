"""Kernels with a user's function inside: copies of a template whose globals are replaced before they are compiled."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from .compiling import compile_now


@cache
def compiled_project(function: Callable) -> Callable:
    """The user's `project`, compiled (lazily, for the array types it meets).

    A copy of a template is kept on disk, under its own name: loops that have it inside share it, in all processes.
    """
    return compile_now(function, cache=getattr(function, "kept", False))


def cacheable(function: Callable) -> bool:
    """Machine code on disk refers to the modules it was made of by name, so they must have one that can be imported."""
    return function.__module__ in sys.modules


@cache
def _kernels_digest() -> str:
    """Changes when any compiled helper of this package does."""
    package = Path(__file__).parents[2]
    files = sorted([*package.rglob("kernels/*.py"), *Path(__file__).parent.glob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _written(value: object) -> str:
    """A value that machine code was made with, to the last bit: the text of an array has eight digits and gaps."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value)


def _sources(function: Callable, seen: set) -> list[str]:
    """All that decides what `function` computes: its file, what it closes over, and the globals that it reads."""
    plain = getattr(function, "py_func", function)  # Numba's wrapper has the Python function inside
    if plain in seen or not hasattr(plain, "__code__"):
        return []
    seen.add(plain)
    code = plain.__code__
    found = [repr((code.co_code, code.co_consts, code.co_names, code.co_varnames))]
    with contextlib.suppress(OSError, TypeError):  # typed at a prompt: there is no file
        found.append(Path(inspect.getfile(plain)).read_text(encoding="utf-8"))
    scope = inspect.getclosurevars(plain)
    for name, value in sorted({**scope.globals, **scope.nonlocals}.items()):
        if not inspect.ismodule(value):
            found += _sources(value, seen) if callable(value) else [f"{name}={_written(value)}"]
    return found


def specialised(template: Callable, function: Callable, called: str = "project", **numbers: int) -> Callable:
    """A copy of `template` with other globals, so that Numba inlines the function that it calls by the name `called`.

    Its name carries a digest of all that could change the machine code, because Numba looks its disk cache up by name
    and knows nothing of globals.
    """
    return specialised_with(template, {called: function}, **numbers)


def specialised_with(template: Callable, functions: Mapping[str, Callable], **numbers: int) -> Callable:
    """`specialised` for a template that calls several functions, given by the names it calls them by."""
    source = "|".join(part for called in sorted(functions) for part in (called, *_sources(functions[called], set())))
    name = "|".join(f"{function.__module__}.{function.__qualname__}" for function in functions.values())
    text = f"{_kernels_digest()}|{name}|{sorted(numbers.items())}|{source}"
    name = f"{template.__name__.strip('_')}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    compiled = {
        called: function if hasattr(function, "py_func") else compiled_project(function)
        for called, function in functions.items()
    }
    scope = {**template.__globals__, **compiled, **numbers}
    copy = types.FunctionType(template.__code__, scope, name)
    copy.__qualname__ = name
    copy.__module__, copy.__annotations__ = template.__module__, template.__annotations__
    copy.kept = all(getattr(function, "kept", cacheable(function)) for function in functions.values())
    return copy
