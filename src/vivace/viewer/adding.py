"""Things thrown into a running scene of soft bodies: rigid bodies that can be grabbed, and go when it starts again.

The simulation stays the one that it was, with another model; what shows it is a running scene of both kinds of bodies,
which knows the one that it was made from. No threads here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..collisions.colliders import Box, Capsule, Collider, Plane, Sphere
from ..collisions.settings import Collisions
from ..errors import InputError
from ..model import Model
from ..rigid.bodies import Body
from ..scenes import Scene
from ..simulation.motion import check_suits
from ..simulation.rigid_part import RigidPart
from ..simulation.simulation import Simulation
from ..solvers import Solver, make_solver
from .choices import with_relaxation
from .exchanging import exchange
from .messages import AddedShape, Settings
from .running import Running
from .running_mixed import RunningMixedScene
from .running_scene import RunningScene, warm_bodies
from .snapshot import Backdrop
from .tailoring import tailored
from .thrown_mesh import ThrownMesh

MOST_ADDED = 8  # at a time
SIZE = 0.07  # of the soft bodies' size: radius of a ball
LARGE = 4.0  # such radii: the longest side of somebody's own mesh
DENSITY = 700.0  # kg/m³: of wood
ROUND = 0.2  # of the size: rounding of a box
ABOVE = 2.0  # sizes above everything that is there
GOLDEN = 2.39996  # rad: so that no two of them fall onto each other
THICKNESS = 0.004  # of the soft bodies' size, at least, where nothing touches anything yet
DEEP = 1.1  # sizes below the body: where the floor is, where there is none


class RunningWithAdded(RunningMixedScene):
    """A running scene with bodies that were added. `origin`: that without them; `solver`: who solved that."""

    def __init__(self, scene: Scene, sim: Simulation, number: int, before: RunningScene, solver: Solver):
        super().__init__(scene, sim, number)
        more = isinstance(before, RunningWithAdded)
        self.origin: RunningScene = before.origin if more else before  # type: ignore[attr-defined]
        self._solver: Solver = before._solver if more else solver  # type: ignore[attr-defined]
        self.settings, self.time = before.settings, before.time
        self.names, self.choices = before.names, before.choices
        self.use_things(before.things)
        self.pointers.use_force(self.sims, before.settings.hand_force)
        self.own_model, self.start_seconds = before.own_model, before.start_seconds
        positions, velocities = self.start = before.start
        self._start_of_all = replace(sim.state, positions=positions, velocities=velocities)
        self._creased_start = before._creased_start

    @property
    def added(self) -> int:
        """How many bodies were added."""
        return len(_bodies(self.model)) - len(_bodies(self.origin.model))

    def without_added(self) -> Running[Any]:
        """The scene as it was, with the settings that there are now; still to be reset."""
        origin, (sim,) = self.origin, self.sims
        self.pointers.release_all(self.sims)
        self.things.give_back()
        sim.replace_model(tailored(origin.model, self.settings))
        if self.names == origin.names:
            sim.solver = self._solver  # prepared for a scene that touches less
        origin.settings, origin.names = self.settings, self.names
        origin.backdrop = Backdrop(self.backdrop.number + 1, origin.scene)
        origin.pointers.use_force(origin.sims, self.settings.hand_force)
        return origin


class Addition:
    """A body that is to be thrown in, above everything that is there.

    addition = Addition(running, "ball")    # InputError where it cannot
    solver = addition.make_solver()         # in any thread: takes as long as setting up a solver does
    running = addition.apply(solver)        # what is held falls

    Where nothing has touched anything yet there is a floor from then on, so that nothing falls for ever.
    """

    def __init__(self, running: Running[Any], shape: AddedShape | ThrownMesh):
        if not isinstance(running, RunningScene):
            raise InputError(
                f"things are thrown into scenes of soft bodies; {running.scene.name} is made of rigid ones"
            )
        if len(running.sims) > 1:
            raise InputError("two solvers side by side are for scenes without rigid bodies; end the comparison first")
        self._running, (sim,), own = running, running.sims, _bodies(running.model)
        count = running.added if isinstance(running, RunningWithAdded) else 0
        if count >= MOST_ADDED:
            raise InputError(f"{MOST_ADDED} things are in the scene already; start it again to take them out")
        body = Body(_shape(shape, sim, count), density=DENSITY)
        collisions = running.model.collisions or _first_contacts(running.model)
        settings = replace(collisions, bodies=(*own, body))
        RigidPart(settings, sim.gravity, 1)  # or says what rigid bodies cannot touch
        check_suits(replace(running.model, collisions=settings), sim.integrator)
        self._before, self._cut = running.model, _cut(running.settings)
        self._model = replace(running.model, collisions=settings)
        self._tailored = running.made_of(self._model, running.settings)
        self._taken = running.things.taken
        self._made: dict[str, Any] = {"time_step": sim.time_step, "threads": sim.threads, "seed": sim.seed}
        self._asked = running.names[0], with_relaxation(running.names[0], running.settings.relaxation)

    def make_solver(self) -> Solver:
        """Who solves with the body, set up and compiled; InputError for solvers that cannot push it."""
        sim = Simulation(self._tailored, solver=make_solver(self._asked[1]), **self._made)
        warm_bodies(sim)
        return sim.solver

    def apply(self, solver: Solver) -> RunningWithAdded:
        """Go on with the body; InputError if the scene has become another meanwhile."""
        running = self._running
        same = running.model is self._before and _cut(running.settings) == self._cut
        same = same and running.things.taken == self._taken
        if not same or len(running.sims) > 1 or running.names[0] != self._asked[0]:
            raise InputError("the scene has changed while this was made ready; throw it in again")
        (sim,) = running.sims
        running.pointers.release_all(running.sims)
        old = sim.solver
        exchange(sim, self._tailored)
        sim.solver = solver
        scene = replace(running.scene, model=self._model)
        more = RunningWithAdded(scene, sim, running.backdrop.number + 1, running, old)
        more.model = self._model
        return more


def with_body(running: Running[Any], shape: AddedShape | ThrownMesh) -> RunningWithAdded:
    """Throw a body in at once."""
    addition = Addition(running, shape)
    return addition.apply(addition.make_solver())


def _shape(shape: AddedShape | ThrownMesh, sim: Simulation, count: int) -> Collider:
    """The geometry of a body, above everything and aside of those that were added before."""
    q = sim.positions.astype(np.float64)
    size = SIZE * max(float(np.ptp(sim.model.mesh.vertices, axis=0).max()), 1e-2)
    middle, top = 0.5 * (q.min(axis=0) + q.max(axis=0)), float(q[:, 1].max())
    if sim.bodies is not None:
        near = sim.bodies.positions[np.linalg.norm(sim.bodies.positions - middle, axis=1) < 100 * size]
        top = max(top, float(near[:, 1].max(initial=top)) + size)
    for one in sim.model.collisions.animated if sim.model.collisions is not None else ():
        places = one.at(sim.time)
        near = places[np.linalg.norm((places - middle)[:, [0, 2]], axis=1) < 2 * size]
        top = max(top, float(near[:, 1].max(initial=top)))
    aside = 0.0 if not count else 1.5 * size
    x, y, z = (
        float(middle[0] + aside * np.cos(GOLDEN * count)),
        top + ABOVE * size,
        float(middle[2] + aside * np.sin(GOLDEN * count)),
    )
    if isinstance(shape, ThrownMesh):
        return shape.at((x, y + size, z), LARGE * size)
    if shape == "ball":
        return Sphere((x, y, z), size)
    if shape == "box":
        return Box((x, y, z), (size, 0.8 * size, size), rounding=ROUND * size)
    return Capsule((x - size, y, z), (x + size, y, z), 0.6 * size)


def _first_contacts(model: Model) -> Collisions:
    """Of a body that has touched nothing: a floor below it."""
    mesh = model.mesh
    size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-2)
    floor = Plane((0.0, float(mesh.vertices[:, 1].min()) - DEEP * size, 0.0))
    made = model.collide([floor], thickness=THICKNESS * size, itself=False).collisions
    assert made is not None
    return made


def _cut(settings: Settings) -> tuple[str, bool, float]:
    """All that `tailored` takes of them."""
    return settings.fabric, settings.self_contact, settings.stiffness


def _bodies(model: Model) -> tuple[Body, ...]:
    return () if model.collisions is None else tuple(model.collisions.bodies)
