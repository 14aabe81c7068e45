"""A scene of rigid bodies: the bodies, and how to simulate and look at them. Beside `Scene`, which has soft ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..checks import STRONGEST, as_numbers, check_seed, check_time_step, shown
from ..errors import InputError
from ..rigid.bodies import Body
from ..simulation.rigid_simulation import EARTH, RigidSimulation
from ..solvers import Budget
from ..solvers.rigid import ContactSolver, make_contact_solver

SOLVER = "contact-sets"  # all points between two bodies at once: what stacks need


@dataclass(frozen=True, eq=False)
class RigidScene:
    """Rigid bodies and how to simulate them.

        scene = vv.make_scene("box-stack", n=10)
        sim = scene.simulate(threads=1)
        report = sim.step()

    Attributes:
        name: of the scene.
        bodies: at their first places.
        time_step: of a frame (s).
        solver: a contact solver by name, with options.
        budget: of a frame; iterations are those of a substep.
        frames: how many a run has unless told otherwise.
        substeps: steps of equal length that a frame is made of.
        gravity: in m/s².
        contact_radius: see `RigidSimulation`.
        view: from where to look, as a direction from the middle.
        settings: all that made it, for the record.
    """

    name: str
    bodies: Sequence[Body]
    time_step: float = 1 / 60
    solver: str = SOLVER
    budget: Budget = field(default_factory=lambda: Budget(iterations=50))
    frames: int = 300
    substeps: int = 4
    gravity: Sequence[float] = EARTH
    contact_radius: float = 0.0
    view: tuple[float, float, float] = (0.55, 0.35, 1.0)
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bodies = tuple(self.bodies)
        if not bodies or not all(isinstance(body, Body) for body in bodies):
            raise InputError(f"a scene of rigid bodies is made of one Body or more, not {shown(self.bodies)}")
        object.__setattr__(self, "bodies", bodies)
        check_time_step(self.time_step)
        as_numbers("gravity", self.gravity, (3,), most=STRONGEST)

    def simulate(
        self,
        *,
        solver: str | ContactSolver | None = None,
        budget: Budget | float | None = None,
        threads: int | None = None,
        seed: int = 0,
        substeps: int | None = None,
    ) -> RigidSimulation:
        """A simulation at the scene's start.

        Args:
            solver: a contact solver; by default the scene's own, as are budget and substeps.
            budget: of a frame.
            threads: by default one for each core.
            seed: of the colouring, for a solver that is given by its name.
            substeps: steps that a frame is made of.
        """
        return RigidSimulation(
            self.bodies,
            solver=seeded(self.solver if solver is None else solver, seed),
            budget=self.budget if budget is None else budget,
            time_step=self.time_step,
            substeps=self.substeps if substeps is None else substeps,
            gravity=self.gravity,
            contact_radius=self.contact_radius,
            threads=threads,
        )


def seeded(solver: str | ContactSolver, seed: int) -> ContactSolver:
    """A contact solver whose colouring has that seed, unless it is made already or its name says another."""
    check_seed(seed)
    made = make_contact_solver(solver)
    if isinstance(solver, str) and "seed=" not in solver and hasattr(made, "seed"):
        made.seed = seed
    return made
