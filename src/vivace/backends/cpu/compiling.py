"""How functions become machine code: the decorators that kernels are written with, and a way to see it happen.

    @compiled        called from Python; the machine code is kept on disk
    @function        called from other compiled code
    @inlined         put into its callers before types are known: for functions that take functions, or tuples of arrays
    @spliced         put into its callers by the optimiser, always

None of them takes the interpreter's lock, and a division by zero gives infinity instead of an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import carray, literal_unroll, njit
from numba.core import event

__all__ = ["carray", "compilation", "compile_now", "compiled", "function", "inlined", "literal_unroll", "spliced"]


def compile_now(plain: Callable, *, cache: bool = True) -> Any:
    """`compiled` for a function that is made at run time."""
    return njit(nogil=True, cache=cache, error_model="numpy")(plain)


def compiled(plain: Callable) -> Any:
    """Compile a function that Python calls; its machine code is kept on disk."""
    return compile_now(plain)


def function(plain: Callable) -> Any:
    """Compile a function that other compiled code calls."""
    return njit(nogil=True, error_model="numpy")(plain)


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
            self._tell(plain.__name__.strip("_").replace("_", " "))

    def on_end(self, event: event.Event) -> None:
        """The next one tells of itself."""


@contextmanager
def compilation(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` with the name of each function that has to be compiled inside the block: none that is on disk."""
    with event.install_listener("numba:compile", _Listener(tell)):
        yield
