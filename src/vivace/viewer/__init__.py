"""The live app: a page in the browser to look at a simulation, pull at it and change it while it runs."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .choices import Target
    from .view import Viewer, view_simulation

__all__ = ["Target", "Viewer", "view_simulation"]
_WHERE = {"Target": "choices", "Viewer": "view", "view_simulation": "view"}


def __getattr__(name: str) -> object:
    """A name of this room, loaded when it is asked for: a page is shown before simulations can be."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
