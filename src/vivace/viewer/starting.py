"""How a scene is made to run: by what it is made of."""

from __future__ import annotations

from typing import Any

from ..scenes import RigidScene, Scene
from ..simulation.rigid_simulation import RigidSimulation
from ..simulation.simulation import Simulation
from ..solvers import Budget
from .body_mesh import moving_bodies
from .running import DEFAULT_MS, Running
from .running_mixed import RunningMixedScene
from .running_rigid import RunningRigidScene, warm_contacts
from .running_scene import RunningScene, warm_bodies


def run_scene(scene: Scene | RigidScene, sim: Any, number: int = 1, **options: Any) -> Running[Any]:
    """A running scene of soft bodies, of rigid ones or of both; options are those of `RunningScene`."""
    if isinstance(scene, RigidScene):
        return RunningRigidScene(scene, sim, number, **options)
    if moving_bodies(scene):
        return RunningMixedScene(scene, sim, number, **options)
    return RunningScene(scene, sim, number, **options)


def budget_of(scene: Scene | RigidScene) -> float | None:
    """Milliseconds a step, unless somebody asks for others; None for rigid bodies, whose steps have iterations.

    Twenty boxes sink 15 mm into each other with one of those a substep and less than 1 mm with twenty, and finding
    contacts takes so long that a budget of milliseconds may leave no time for more than one.
    """
    return scene.budget.ms or (None if isinstance(scene, RigidScene) else DEFAULT_MS)


def warm(sim: Simulation | RigidSimulation) -> None:
    """Compile and set up all that a step needs."""
    if isinstance(sim, RigidSimulation):
        warm_contacts(sim.solver)
        sim.budget = Budget(iterations=2)
        sim.step()
    else:
        warm_bodies(sim)


def warm_up(sim: Simulation | RigidSimulation) -> None:
    """Compile and set up all that a step needs; the simulation is then as it was."""
    trace = isinstance(sim, Simulation) and sim.trace
    state, budget = sim.state, sim.budget
    try:
        warm(sim)
    finally:
        if isinstance(sim, Simulation):
            sim.state, sim.trace = state, trace  # type: ignore[assignment]
        else:
            sim.state = state  # type: ignore[assignment]
        sim.budget = budget
