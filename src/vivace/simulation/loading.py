"""Simulations from checkpoints."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

from ..errors import FileError, InputError, VivaceError
from ..hyperelastic.term import Hyperelastic
from ..model import Model
from ..solvers.rigid import contact_solver_of_data
from .checkpoint import Checkpoint, read_checkpoint, written_by
from .rigid_simulation import RigidSimulation
from .simulation import Simulation


def load(path: str | PathLike[str], *, threads: int | None = None) -> Simulation | RigidSimulation:
    """The simulation that `save` has written, ready to step; with a budget of iterations, to the same bits.

        sim = vivace.load("drape.vivace")
        sim.step()

    Constraints, materials, terms and solvers of one's own must be registered before: import the module that does.

    Args:
        path: of a checkpoint.
        threads: by default one for each core; results do not depend on it (by iterations).

    Raises:
        FileError: for what is no checkpoint, damaged, or of a version that this one cannot read; it says which.
    """
    checkpoint = read_checkpoint(path)
    if not checkpoint.same_version:
        warnings.warn(
            f"{path} goes on, but perhaps not with the same bits{written_by(checkpoint.version)}", stacklevel=2
        )
    return simulation_of(checkpoint, threads=threads)


def simulation_of(checkpoint: Checkpoint, *, threads: int | None = None) -> Simulation | RigidSimulation:
    """The simulation of a checkpoint that has been read."""
    try:
        make = MAKERS.get(checkpoint.kind)
        if make is None:
            raise InputError(f"it is of the kind {checkpoint.kind[:40]!r}; there are {', '.join(MAKERS)}")
        sim: Simulation | RigidSimulation = make(checkpoint.settings, threads)
        sim.state = checkpoint.state
        return sim
    except VivaceError as error:
        raise FileError(f"cannot load {checkpoint.path}: {error}{written_by(checkpoint.version)}") from error
    except Exception as error:  # what was stored fits the classes, but not each other
        told = f"its parts do not fit each other ({error!r:.200}){written_by(checkpoint.version)}"
        raise FileError(f"cannot load {checkpoint.path}: {told}") from error


def _soft(settings: dict[str, Any], threads: int | None) -> Simulation:
    settings = dict(settings)
    model = settings.pop("model", None)
    if not isinstance(model, Model):
        raise InputError("it has no model")
    _check_vertices(model)
    return Simulation(model, threads=threads, **settings)


def _check_vertices(model: Model) -> None:
    """Constraints and elements are of the model's own vertices: compiled code does not look again."""
    for group in model.groups:
        if len(group) and int(group.vertices.max()) >= model.n:
            raise InputError(f"its constraints {group.kind.name!r} name vertices beyond its {model.n}")
    for term in model.terms:
        if isinstance(term, Hyperelastic) and term.n != model.n:
            raise InputError(f"it has a hyperelastic body of {term.n} vertices in a model of {model.n}")
    for part in model.attachments:
        if len(part.vertices) and not 0 <= int(part.vertices.min()) <= int(part.vertices.max()) < model.n:
            raise InputError(f"it attaches vertices beyond its {model.n}")


def _rigid(settings: dict[str, Any], threads: int | None) -> RigidSimulation:
    settings = dict(settings)
    bodies, solver = settings.pop("bodies", ()), contact_solver_of_data(settings.pop("solver", None))
    return RigidSimulation(bodies, solver=solver, threads=threads, **settings)


MAKERS: dict[str, Callable[[dict[str, Any], int | None], Any]] = {"soft": _soft, "rigid": _rigid}
