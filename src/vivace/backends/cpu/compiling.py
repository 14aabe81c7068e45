"""How functions become machine code: the decorators that kernels are written with, and a way to see it happen.

    @compiled        called from Python
    @function        called from other compiled code, and kept for it: processes that compile different kernels share it
    @inlined         put into its callers before types are known: for functions that take functions, or tuples of arrays
    @spliced         put into its callers by the optimiser, always

The machine code of the first two is kept on disk. None of the four takes the interpreter's lock, and a division by zero
gives infinity instead of an exception.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import carray, literal_unroll, njit
from numba.core import config, event
from numba.core.caching import FunctionCache

__all__ = [
    "ABOUT",
    "carray",
    "compilation",
    "compile_now",
    "compiled",
    "described",
    "function",
    "inlined",
    "is_first_time",
    "literal_unroll",
    "spliced",
]
ABOUT = 52  # functions that the first start of a cloth on a table compiles; other scenes need some more or some less


def compile_now(plain: Callable, *, cache: bool = True) -> Any:
    """`compiled` for a function that is made at run time.

    Raises:
        TypeError: it is to be kept on disk, but closes over something. Numba looks it up by the bytes of that, which
            are others in every process for a function: each would keep it anew, and never find it.
    """
    if cache and plain.__closure__:
        raise TypeError(
            f"{plain.__qualname__} closes over {', '.join(plain.__code__.co_freevars)}: compile it with cache=False"
        )
    compiled = njit(nogil=True, error_model="numpy")(plain)
    if cache:
        compiled._cache = _Kept(plain)
    return compiled


class _Kept(FunctionCache):
    """Numba's files of a function, written by one process at a time.

    A new signature gets the first number that the index does not have. Two processes that come with different ones at
    once would give both the same, and later ones would find the machine code of the other.
    """

    def save_overload(self, sig: Any, data: Any) -> None:
        with _alone(self.cache_path):
            super().save_overload(sig, data)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """While no other process is in the same place; where a system has no locks, as before."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            lock = stack.enter_context(open(os.path.join(folder, ".lock"), "wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Said, and not left to closing: a process that was forked meanwhile has the file open, too.
            stack.callback(fcntl.flock, lock, fcntl.LOCK_UN)
        yield


def compiled(plain: Callable) -> Any:
    """Compile a function that Python calls."""
    return compile_now(plain)


def function(plain: Callable) -> Any:
    """Compile a function that other compiled code calls."""
    return compile_now(plain)


def inlined(plain: Callable) -> Any:
    """Compile a function that is put into its callers before types are known."""
    return njit(inline="always", error_model="numpy")(plain)


def spliced(plain: Callable) -> Any:
    """Compile a function that the optimiser always puts into its callers."""
    return njit(nogil=True, forceinline=True, error_model="numpy")(plain)


class _Listener(event.Listener):
    def __init__(self, tell: Callable[[str], None]):
        self._tell = tell

    def on_start(self, event: event.Event) -> None:
        plain = event.data["dispatcher"].py_func
        if not plain.__module__.startswith("numba"):  # its own helpers are no news
            self._tell(described(plain))

    def on_end(self, event: event.Event) -> None:
        """The next one tells of itself."""


def described(plain: Callable) -> str:
    """What a function is for, in words: the room that it is in, its file and its name, "collisions, distance: root"."""
    room, *inner = [part for part in plain.__module__.split(".")[1:] if part != "kernels"] or [plain.__module__]
    place = ", ".join(part.replace("_", " ") for part in (room, *inner[-1:]))
    name = plain.__name__.strip("_").replace("_", " ")
    return f"{place}: {name}" if name.isprintable() and "<" not in name else place


def is_first_time() -> bool:
    """Whether no machine code has been kept yet, so that everything has to be compiled."""
    named = config.CACHE_DIR
    folder = Path(named) if named else Path(__file__).parents[2]
    return next(folder.rglob("*.nbi"), None) is None if folder.is_dir() else True


@contextmanager
def compilation(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` with what each function is that has to be compiled inside the block: none that is on disk."""
    with event.install_listener("numba:compile", _Listener(tell)):
        yield
