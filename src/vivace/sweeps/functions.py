"""Functions and values for other processes: by name where a module can be imported there, with their code where not.

What is sent goes from the process of a person to workers of the same person; nothing of it is ever read from a file.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.machinery import PathFinder
from typing import Any

from ..checks import shown
from ..errors import InputError, MissingExtraError

EXTRA = "sweep"
PLAIN = (type(None), bool, int, float, str, bytes)  # themselves: what inherits from them has code of its own


def is_own(function: Callable[..., Any]) -> bool:
    """Whether a function is somebody's own, which workers do not have."""
    return not (getattr(function, "__module__", "") or "").startswith("vivace.")


def packed_function(function: Callable[..., Any]) -> str:
    """A function as text, with its code where its module is a script or a notebook."""
    return base64.b64encode(packed(function, repr(function), "a function of one's own in a sweep")).decode()


def unpacked_function(text: str) -> Callable[..., Any]:
    """The function of such a text, which came from the process that began the sweep."""
    function: Callable[..., Any] = unpacked(base64.b64decode(text))
    return function


def is_plain(value: Any) -> bool:
    """Whether a value is data that every process knows: numbers, words, truth values, and lists and tables of them."""
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return type(value) in PLAIN


def check_portable(name: str, value: Any) -> None:
    """Refuse a value that cannot be sent to other processes."""
    if not is_plain(value):
        packed(value, f"{name}={shown(value)}")


def packed(value: Any, said: str, what: str = "a value of one's own in a sweep") -> bytes:
    """Anything as bytes, with the code of its class where that is in a script or a notebook.

    Args:
        value: to send.
        said: what it is called where it cannot be sent.
        what: needs the library that does this.
    """
    try:
        import cloudpickle
    except ImportError as error:
        raise MissingExtraError(what, EXTRA) from error
    with ExitStack() as stack:
        try:
            for name in {name for name in _modules(value) if name in sys.modules and not _importable(name)}:
                cloudpickle.register_pickle_by_value(sys.modules[name])
                stack.callback(cloudpickle.unregister_pickle_by_value, sys.modules[name])
            data: bytes = cloudpickle.dumps(value)
        except Exception as error:  # whatever it refers to
            raise InputError(f"{said} cannot be sent to other processes: {error}") from error
    return data


def unpacked(data: bytes) -> Any:
    """What was packed, by the process that began the sweep."""
    import cloudpickle

    return cloudpickle.loads(data)


def _modules(value: Any) -> Iterator[str]:
    """The modules that things, and what lists and tables have of them, are of."""
    if isinstance(value, list | tuple | dict):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _modules(item)
    yield str(getattr(value, "__module__", ""))


def name_of(function: Callable[..., Any]) -> str:
    """What tells a function from others in a sweep that is gone on with."""
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"


def _importable(name: str) -> bool:
    """Whether another process finds a module; that it is loaded here says nothing about that."""
    top = name.partition(".")[0]
    return top != "__main__" and (top in sys.builtin_module_names or PathFinder.find_spec(top) is not None)
