"""A running simulation goes on with other colliders and rigid bodies; what it had before and still has is as it was."""

from __future__ import annotations

import numpy as np

from ..collisions.colliders import Collider
from ..model import Model
from ..simulation.simulation import Simulation

OF_EACH = ("positions", "orientations", "velocities", "spins", "forces", "springs", "moved", "owed", "loads")
BITS = (1 << 31) - 1  # of the name of a contact: with which collider or body


def exchange(sim: Simulation, model: Model) -> None:
    """Go on with a model that touches other things than before: colliders have become bodies, or bodies were added.

    What has the same geometry, the very object, is the same thing. Bodies keep their poses and velocities, and contacts
    the forces that they remember, so that what lies on something lies on.
    """
    before = _standing(sim.model)
    poses = {} if sim.bodies is None else sim.bodies.memory()
    forces = sim.solver.remembered()
    sim.replace_model(model)
    sim.prepare()
    numbers = {id(shape): k for k, shape in enumerate(_standing(sim.model))}
    new = np.array([numbers.get(id(shape), -1) for shape in before], np.int64)
    if sim.bodies is not None and poses:
        _place(sim, poses, new)
    if len(forces.get("contacts.keys", ())):
        sim.solver.recall({**forces, **_renumbered(forces["contacts.keys"], forces["contacts.forces"], new)})


def _standing(model: Model) -> list[Collider]:
    """All that is touched, in the order in which contacts number it."""
    settings = model.collisions
    return [] if settings is None else [*settings.colliders, *(body.shape for body in settings.bodies)]


def _place(sim: Simulation, poses: dict[str, np.ndarray], new: np.ndarray) -> None:
    """Rigid bodies go on as they were; `new`: their numbers now."""
    assert sim.bodies is not None
    made, kept = sim.bodies.memory(), new >= 0
    for name in OF_EACH:
        made[f"bodies.{name}"][new[kept]] = poses[f"bodies.{name}"][kept]
    same = bool((new == np.arange(len(new))).all())
    for name, array in poses.items():
        touching = name.startswith("bodies.contacts.") or name == "bodies.impulses"
        if name[7:] not in OF_EACH and (same or not touching):
            made[name] = array
    sim.bodies.recall(made)


def _renumbered(keys: np.ndarray, forces: np.ndarray, new: np.ndarray) -> dict[str, np.ndarray]:
    """The forces of contacts, by their names now, sorted."""
    number, count = keys & BITS, len(new)
    touched = np.where(number < count, np.append(new, -1)[np.minimum(number, count)], -1)  # animated meshes come last
    named = (keys & ~BITS) | touched
    order = np.argsort(named, kind="stable")
    order = order[touched[order] >= 0]
    return {"contacts.keys": named[order], "contacts.forces": forces[order]}
