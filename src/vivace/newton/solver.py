"""`SolverVivace`: one of Newton's solvers, with Vivace inside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from newton import Contacts, Control, Model, ModelFlags, State, StateFlags
from newton.solvers import SolverBase

from ..collisions.colliders import Collider
from ..errors import InputError
from ..rigid.bodies import Body
from ..simulation import Report, Simulation
from ..solvers import Budget
from .mapping import Mapped, as_numpy, mapped
from .shapes import Follower, colliders_of, led, pose_of

ITERATIONS, SUBSTEPS = 16, 4
ONCE, PARTICLE = Model.AttributeFrequency.ONCE, Model.AttributeFrequency.PARTICLE


class SolverVivace(SolverBase):  # type: ignore[misc]
    """Cloth and tetrahedra of a Newton model, by any solver of Vivace, on the CPU.

        solver = SolverVivace(model)                       # 16 iterations a step, in four substeps
        solver = SolverVivace(model, budget_ms=8)          # or so many milliseconds
        seen = solver.observables({"residual", "position_error"})
        solver.step(state_0, state_1, control, None, dt, observables=seen)

    Long steps suit it: it makes substeps of its own. Where an example calls a solver ten times a frame, call this one
    once. Contacts are its own, found in every substep with surfaces kept apart: `contacts` is not read.

    Particles without inverse mass, or without the flag ACTIVE, are held where `state_in` has them: write their
    positions to move them. Shapes of bodies go where `body_q` and `body_qd` of `state_in` lead them; bodies themselves
    pass to `state_out` as they are, and feel nothing.

    Limitations: damping of elements (`tri_kd`, `edge_kd`, `spring_damping`, `k_damp`) is not mapped, say `viscosity` or
        `air` instead; nor are lift and drag of triangles, activations, muscles, joints, rigid bodies that cloth pushes,
        particle-particle contacts (grains), attachments of particles to bodies, restitution, `soft_contact_ke` and `kd`
        (contacts are hard), margins of shapes, height fields and Gaussians. Triangles are a linear elastic sheet of μ
        and λ in the axes of their rotation, and agree with Newton's neo-Hookean membrane for small strains; bending is
        that of `SolverVBD` for small angles. A mesh on a body is its convex hull. Steps cannot be captured in a graph,
        nor be differentiated.
    """

    class ObservableKind(SolverBase.ObservableKind):  # type: ignore[misc]
        """Names of what a step can tell."""

        RESIDUAL = "residual"
        POSITION_ERROR = "position_error"
        RELATIVE_ERROR = "relative_error"
        ITERATIONS = "iterations"

    @dataclass(eq=False)
    class Observables(SolverBase.Observables):  # type: ignore[misc]
        """What a step can tell: how far from solved its last substep is."""

        residual: Any = SolverBase.Observables.field(dtype=wp.vec3, frequency=PARTICLE)  # noqa: RUF009  Newton's way
        """Forces that the step has left unbalanced [N], shape (particle_count,): the gradient of its energy."""

        position_error: Any = SolverBase.Observables.field(dtype=wp.float32, frequency=ONCE)  # noqa: RUF009  Newton's way
        """RMS distance of the particles from the converged minimum [m], shape (1,). Takes seconds; NaN in contact."""

        relative_error: Any = SolverBase.Observables.field(dtype=wp.float32, frequency=ONCE)  # noqa: RUF009  Newton's way
        """Share of the energy that is still to be removed, shape (1,); likewise."""

        iterations: Any = SolverBase.Observables.field(dtype=wp.float32, frequency=ONCE)  # noqa: RUF009  Newton's way
        """Iterations of the step, shape (1,)."""

    SUPPORTED_OBSERVABLES = frozenset({"residual", "position_error", "relative_error", "iterations"})

    def __init__(
        self,
        model: Model,
        *,
        budget_ms: float | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        solver: str = "auto",
        substeps: int | str = SUBSTEPS,
        colliders: bool | Iterable[Collider | Body] = True,
        self_contact: bool = False,
        thickness: float | None = None,
        friction: float | None = None,
        triangles: bool = True,
        springs: bool = True,
        bending: bool = True,
        air: float = 0.0,
        viscosity: float = 0.0,
    ):
        """Map the model; kernels are compiled in the first step.

        Args:
            model: Simulation model with particles; on the CPU.
            budget_ms: Milliseconds that a step may take.
            iterations: Iterations of a step; 16 if nothing else limits it.
            tolerance: Stop where the residual [N] is below this share of the first one.
            solver: One of `vivace list solvers`.
            substeps: Of a step; "auto" leaves them to the solver, which makes one of 1/60 s where things touch.
            colliders: Whether particles touch the model's shapes; or colliders of Vivace, instead of these.
            self_contact: Whether surfaces touch themselves and each other.
            thickness: Distance that contacts keep [m]; by default the median radius of the particles.
            friction: Coulomb's coefficient between surfaces; by default ``model.soft_contact_mu``. Shapes have the root
                of its product with their own.
            triangles: Whether triangles resist stretch and shear; `SolverXPBD` takes springs alone.
            springs: Whether springs do.
            bending: Whether edges between triangles resist bending.
            air: Rate at which still air slows particles down [1/s].
            viscosity: Damping force is this [s] x stiffness x rate of change.
        """
        super().__init__(model)
        if not model.device.is_cpu:
            raise InputError(f"SolverVivace runs on the CPU; finalise the model there, not on {model.device}")
        if budget_ms is None and iterations is None and tolerance is None:
            iterations = ITERATIONS
        self._budget = Budget(ms=budget_ms, iterations=iterations, tolerance=tolerance)
        self._solver, self._substeps, self._colliders = solver, substeps, colliders
        self._options: dict[str, Any] = {
            "self_contact": self_contact, "thickness": thickness, "friction": friction, "triangles": triangles,
            "springs": springs, "bending": bending, "air": air, "viscosity": viscosity,
        }  # fmt: skip
        self.report: Report | None = None  # of the last step
        self._simulation: Simulation | None = None
        self._given: tuple[np.ndarray, np.ndarray] | None = None  # what the last step has written
        self._forces_seen = False
        self._mapped, self._followers = self._map()

    def _map(self) -> tuple[Mapped, list[Follower]]:
        followers: list[Follower] = []
        if isinstance(self._colliders, bool):
            touched, followers = colliders_of(self.model) if self._colliders else ([], [])
        else:
            touched = list(self._colliders)
        return mapped(self.model, colliders=touched, **self._options), followers

    @property
    def simulation(self) -> Simulation:
        """Vivace's own, once a step was made."""
        if self._simulation is None:
            raise InputError("there is no simulation before the first step")
        return self._simulation

    def step(
        self,
        state_in: State,
        state_out: State,
        control: Control | None,
        contacts: Contacts | None,
        dt: float,
        *,
        observables: SolverBase.Observables | None = None,
    ) -> None:
        """Advance particles by `dt` seconds.

        Args:
            state_in: What is, with external forces in `particle_f`.
            state_out: What will be; may be the same object.
            control: Not read.
            contacts: Not read: contacts are found in every substep.
            dt: Time step [s].
            observables: From `solver.observables({"residual", ...})`.
        """
        if self.device.is_capturing:
            raise InputError("SolverVivace runs on the host and cannot be captured in a graph; call step without one")
        self.validate_observables(observables, contacts)
        q, v = as_numpy(state_in.particle_q, -1, 3), as_numpy(state_in.particle_qd, -1, 3)
        sim = self._at(q, v, float(dt))
        self._push(sim, state_in)
        self._lead(sim, state_in, float(dt))
        self.report = sim.step()
        positions, velocities = sim.positions, sim.velocities.astype(np.float32)
        fixed = self._mapped.fixed
        positions[fixed], velocities[fixed] = q[fixed], v[fixed]
        self._given = positions, velocities
        state_out.particle_q.assign(positions)
        state_out.particle_qd.assign(velocities)
        if state_out is not state_in and self.model.body_count:
            wp.copy(state_out.body_q, state_in.body_q)
            wp.copy(state_out.body_qd, state_in.body_qd)
        self._tell(observables)

    def _at(self, q: np.ndarray, v: np.ndarray, dt: float) -> Simulation:
        """The simulation, where `state_in` is: as it was left, unless somebody has moved something."""
        sim = self._simulation
        if sim is None:
            sim = self._simulation = Simulation(
                self._mapped.model, solver=self._solver, budget=self._budget, time_step=dt, substeps=self._substeps
            )
        sim.time_step = dt
        fixed = self._mapped.fixed
        given = self._given
        if given is None or not self._same(given[0], q):
            sim.positions = q
        if given is None or not self._same(given[1], v):
            sim.velocities = v
        if len(fixed):
            sim.targets = q[self._mapped.model.pinned]
        return sim

    def _same(self, given: np.ndarray, found: np.ndarray) -> bool:
        different = (given != found).any(axis=1)
        different[self._mapped.fixed] = False  # these are led, and not thrown
        return not different.any()

    def _push(self, sim: Simulation, state: State) -> None:
        """External forces, and gravity of other worlds."""
        forces = as_numpy(state.particle_f, -1, 3) if state.particle_f is not None else np.zeros((0, 3))
        extra = self._mapped.masses[:, None] * self._mapped.extra
        some = bool(forces.any() or extra.any())
        if some or self._forces_seen:
            sim.apply_forces((forces if len(forces) else 0.0) + extra)
        self._forces_seen = some

    def _lead(self, sim: Simulation, state: State, dt: float) -> None:
        """Colliders go with their bodies."""
        if not self._followers:
            return
        poses, velocities = as_numpy(state.body_q, -1, 7), as_numpy(state.body_qd, -1, 6)
        centres = as_numpy(self.model.body_com, -1, 3).astype(np.float64)
        for path in self._followers:
            pose = pose_of(poses[path.body])
            path.go(pose, led(pose, velocities[path.body], centres[path.body], dt), sim.time, dt)

    def _tell(self, observables: SolverBase.Observables | None) -> None:
        """Write what was asked for."""
        report = self.report
        if observables is None or report is None:
            return
        if observables.is_requested("residual"):
            gradient = report.system.gradient(report.positions.astype(np.float64), report.frame)
            observables.residual.assign((-gradient).astype(np.float32))
        for name in ("position_error", "relative_error"):
            if observables.is_requested(name):
                getattr(observables, name).fill_(float(getattr(report, name)))
        if observables.is_requested("iterations"):
            observables.iterations.fill_(float(report.sweeps))

    def reset(self, state: State, world_mask: Any = None, flags: StateFlags | int | None = None) -> None:
        """Forget what was: the next step begins where its `state_in` is, and the simulated time at zero.

        Vivace simulates all worlds as one: memory of iterations is forgotten of all, positions of none but those that
        whoever calls has changed.
        """
        super().reset(state, world_mask, flags)
        self._simulation = self._given = self.report = None
        self._forces_seen = False

    def notify_model_changed(self, flags: ModelFlags | int) -> None:
        """Map the model again; the next step goes on where its `state_in` is."""
        del flags  # particles, triangles and shapes belong to no flag of their own
        self._mapped, self._followers = self._map()
        self._simulation = self._given = None
