"""Names of an earlier release: they work for one more, with a warning that tells the new one."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from types import ModuleType
from typing import Any


def warn(old: str, new: str) -> None:
    """Say that `old` is now called `new`, at the line that uses it."""
    warnings.warn(f"{old} is now {new}; the old name goes with the next release", DeprecationWarning, stacklevel=3)


def renamed(old: str, new: Callable[..., Any], name: str) -> Any:
    """A function or method under its old name; `name`: the new one."""

    @wraps(new)
    def call(*args: Any, **options: Any) -> Any:
        warn(old, name)
        return new(*args, **options)

    return call


def renamed_property(old: str, new: str) -> Any:
    """A property under its old name; `new`: the name of the attribute."""

    def read(self: Any) -> Any:
        warn(old, new)
        return getattr(self, new)

    return property(read, doc=f"Now `{new}`.")


# Where modules have moved to. Those that moved with a change of their contents are not here.
MOVED = {
    "vivace.system": "vivace.energy.system",
    "vivace.materials": "vivace.model.materials",
    "vivace.report": "vivace.simulation.report",
    "vivace.integrators": "vivace.simulation.integrators",
    "vivace.wind": "vivace.simulation.wind",
    "vivace.picking": "vivace.simulation.picking",
    "vivace.collisions.fields": "vivace.collisions.colliders",
    "vivace.collisions.walls": "vivace.collisions.collider_contacts",
    "vivace.collisions.zones": "vivace.collisions.impact_zones",
    "vivace.mesh.filled": "vivace.mesh.rabbit",
    "vivace.solvers.hessian": "vivace.energy.hessian",
    "vivace.solvers.line_search": "vivace.solvers.projective.line_search",
    "vivace.solvers.hierarchy": "vivace.solvers.projective.hierarchy",
    "vivace.solvers.correcting": "vivace.solvers.projective.correcting",
    "vivace.solvers.sweeping": "vivace.solvers.projective.sweeping",
    "vivace.solvers.layout": "vivace.solvers.projective.layout",
    "vivace.kernels.team": "vivace.backends.cpu.executor",
    "vivace.kernels.simd": "vivace.backends.cpu.simd",
}


class _Alias(importlib.abc.Loader):
    def __init__(self, new: str):
        self._new = new

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(self._new)

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed under its new name."""


class _Moved(importlib.abc.MetaPathFinder):
    """Finds modules under the names they had."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "vivace.kernels":  # the folder that some of them were in
            return importlib.machinery.ModuleSpec(name, None, is_package=True)
        new = MOVED.get(name)
        if new is None:
            return None
        warn(name, new)
        return importlib.util.spec_from_loader(name, _Alias(new))


def install() -> None:
    """Let old module names be imported."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
