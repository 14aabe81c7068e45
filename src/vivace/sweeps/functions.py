"""Functions for other processes: by name where a module can be imported there, and with their code where not.

What is sent goes from the process of a person to workers of the same person; nothing of it is ever read from a file.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

from ..errors import InputError, MissingExtraError

EXTRA = "sweep"


def is_own(function: Callable[..., Any]) -> bool:
    """Whether a function is somebody's own, which workers do not have."""
    return not (getattr(function, "__module__", "") or "").startswith("vivace.")


def packed_function(function: Callable[..., Any]) -> str:
    """A function as text, with its code where its module is a script or a notebook."""
    try:
        import cloudpickle
    except ImportError as error:
        raise MissingExtraError("a function of one's own in a sweep", EXTRA) from error
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    by_value = module is not None and not _importable(module.__name__)
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return base64.b64encode(cloudpickle.dumps(function)).decode()
    except Exception as error:  # whatever it refers to
        raise InputError(f"{function!r} cannot be sent to other processes: {error}") from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)


def unpacked_function(text: str) -> Callable[..., Any]:
    """The function of such a text, which came from the process that began the sweep."""
    import cloudpickle

    function: Callable[..., Any] = cloudpickle.loads(base64.b64decode(text))
    return function


def name_of(function: Callable[..., Any]) -> str:
    """What tells a function from others in a sweep that is gone on with."""
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"


def _importable(name: str) -> bool:
    """Whether another process finds a module; that it is loaded here says nothing about that."""
    top = name.partition(".")[0]
    return top != "__main__" and (top in sys.builtin_module_names or PathFinder.find_spec(top) is not None)
