"""The step of rigid bodies: detect, solve contacts, move, push apart what overlaps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..backends.cpu.executor import check_threads
from ..checks import STRONGEST, as_numbers, check_time_step, is_whole, shown
from ..errors import InputError
from ..rigid.bodies import Balls, Bodies, Body
from ..rigid.contacts import ContactPoints
from ..rigid.detection import BodyDetector
from ..rigid.grabs import BodyGrabs
from ..rigid.problem import ContactProblem
from ..rigid.stepping import contact_geometry, contact_problem, follow_paths, free_velocities, move, waiting
from ..solvers import Budget, as_budget
from ..solvers.rigid import ContactSolver, Solution, contact_solver_as_data, make_contact_solver
from .checkpoint import write_checkpoint
from .rigid_state import RigidState

EARTH = (0.0, -9.81, 0.0)
APART = 0.2  # share of an overlap that is removed in a substep
SLOP = 5e-4  # m of overlap that is left, so that what rests keeps its contacts
PUSHES = 10  # iterations for that
ITERATIONS = 50  # of a substep, unless a budget is given


@dataclass(frozen=True, eq=False)
class RigidReport:
    """What a step of rigid bodies did.

    Attributes:
        frame: its number, from 1.
        contacts: at its end.
        iterations: of the contact solver, of all substeps.
        residual: the largest change of an impulse in the last iteration, in N s.
        tries: how often r-factors had to be made smaller.
        colours: sizes of the last colours.
        depth: the deepest overlap found, in m.
        kinetic_energy: in J.
        stages: milliseconds of detect, solve, apart and move.
        late_ms: beyond a budget of time.
        residuals: the largest change of an impulse in each iteration of the last substep, in N s.
    """

    frame: int
    contacts: ContactPoints
    iterations: int
    residual: float
    tries: int
    colours: np.ndarray
    depth: float
    kinetic_energy: float
    stages: dict[str, float]
    late_ms: float = 0.0
    residuals: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class BegunSubstep:
    """A substep before its contacts are solved.

    Attributes:
        h: its length (s).
        turned: (M, 3, 3) rotations of the bodies.
        free: (M, 6) velocities and spins that they would end with without contacts.
        contacts: what they touch.
        geometry: of their problem, whatever the velocities.
    """

    h: float
    turned: np.ndarray
    free: np.ndarray
    contacts: ContactPoints
    geometry: ContactProblem


@dataclass(frozen=True, eq=False)
class SolvedSubstep:
    """A substep after that: the problem, what the solver found, and the bodies' velocities (M, 6) with it."""

    problem: ContactProblem
    solution: Solution
    velocities: np.ndarray


class RigidSimulation:
    """Rigid bodies in motion.

        sim = RigidSimulation([Body(Plane(), fixed=True), Body(Box((0, 1, 0), (0.1, 0.1, 0.1)))])
        report = sim.step()
        sim.positions, sim.orientations

    Args:
        bodies: any number of `Body`, and `vivace.rigid.bodies.Balls` for very many.
        solver: a contact solver by name, with options: "contact-sets", "coloured", "gauss-seidel", "jacobi", ...
        budget: a Budget, or milliseconds a frame; None: 50 iterations. Iterations are those of a substep.
        time_step: of a frame (s).
        substeps: steps of equal length that a frame is made of.
        gravity: in m/s².
        contact_radius: of the area on which bodies touch, in m, for friction of spin; a number, or one for each body.
        threads: default one for each core. The result does not depend on it (with a budget of iterations).
    """

    def __init__(
        self,
        bodies: Sequence[Body | Balls],
        *,
        solver: str | ContactSolver = "contact-sets",
        budget: Budget | float | None = None,
        time_step: float = 1 / 60,
        substeps: int = 4,
        gravity: Sequence[float] = EARTH,
        contact_radius: float | np.ndarray = 0.0,
        threads: int | None = None,
    ):
        self.made_of = tuple(bodies)
        self.bodies = Bodies.of(self.made_of)
        self.solver = make_contact_solver(solver)
        self.budget = Budget(iterations=ITERATIONS) if budget is None else as_budget(budget)
        self.time_step = check_time_step(time_step)
        if not is_whole(substeps) or not 1 <= substeps <= 1000:
            raise InputError(f"substeps must be a whole number from 1 to 1000, not {shown(substeps)}")
        self.substeps, self.threads = int(substeps), check_threads(threads)
        self.gravity = as_numbers("gravity", gravity, (3,), most=STRONGEST)
        radii = np.asarray(contact_radius, float)
        if not np.isfinite(radii).all() or (radii < 0).any() or radii.shape not in ((), (len(self.bodies),)):
            raise InputError(f"contact_radius must be zero or positive, a number or one for each body, not {radii}")
        self.contact_radius = np.broadcast_to(radii, (len(self.bodies),)).copy()
        self.frames, self.time = 0, 0.0
        self.detector = BodyDetector(self.bodies.shapes, self.bodies.movable)
        self.starts = {
            k: (self.bodies.positions[k].copy(), self.bodies.orientations[k].copy()) for k in self.bodies.paths
        }
        self._start = tuple(part.copy() for part in self._moving())
        self._grabs = BodyGrabs(self.bodies)
        self.contacts, self.impulses = ContactPoints.none(), np.zeros((0, 4))
        self.forces = np.zeros((len(self.bodies), 6))  # N and N m, held until they are changed

    def __repr__(self) -> str:
        return f"<RigidSimulation of {len(self.bodies)} bodies by {self.solver.name}: frame {self.frames}>"

    @property
    def positions(self) -> np.ndarray:
        """(M, 3) centres of mass, in m; a copy."""
        return self.bodies.positions.copy()

    @property
    def orientations(self) -> np.ndarray:
        """(M, 4) unit quaternions, the scalar first; a copy."""
        return self.bodies.orientations.copy()

    @property
    def velocities(self) -> np.ndarray:
        """(M, 3) in m/s; a copy."""
        return self.bodies.velocities.copy()

    @property
    def spins(self) -> np.ndarray:
        """(M, 3) angular velocities, in rad/s; a copy."""
        return self.bodies.spins.copy()

    def _moving(self) -> tuple[np.ndarray, ...]:
        bodies = self.bodies
        return bodies.positions, bodies.orientations, bodies.velocities, bodies.spins

    @property
    def state(self) -> RigidState:
        """All that is carried from step to step: a copy; assign one to go on from there, bit for bit.

        Of a simulation of the same bodies. Another solver, budget or time step may go on with it, too, but then not
        with the same bits.
        """
        bodies, grabs = self.bodies, self._grabs
        made = RigidState(
            bodies.positions, bodies.orientations, bodies.velocities, bodies.spins, self.forces, self.gravity,
            self.impulses, vars(self.contacts), grabs.rows(), grabs.given, self.time, self.frames,
        )  # fmt: skip
        return made.copy()

    @state.setter
    def state(self, value: RigidState) -> None:
        if not isinstance(value, RigidState):
            raise InputError(f"a simulation of rigid bodies goes on with a RigidState, not {shown(value)}")
        value.check(len(self.bodies), self.bodies.movable)
        own = value.copy()
        new = own.positions, own.orientations, own.velocities, own.spins
        for part, given in zip(self._moving(), new, strict=True):
            part[:] = given
        self.forces, self.gravity, self.impulses = own.forces, own.gravity, own.impulses
        self.contacts = ContactPoints(**own.contacts)
        self._grabs.recall(own.grabs, own.given)
        self.time, self.frames = own.time, own.frames

    def save(self, path: str | PathLike[str]) -> FilePath:
        """Write a checkpoint, which `vivace.load` makes a simulation of that goes on with the same bits.

        Args:
            path: of the file; what is there already is replaced, as a whole.
        """
        return write_checkpoint(path, "rigid", self.as_data(), self.state)

    def as_data(self) -> dict[str, Any]:
        """The bodies and the settings, from which it can be made again, for checkpoints."""
        return {
            "bodies": self.made_of, "solver": contact_solver_as_data(self.solver), "budget": self.budget,
            "time_step": self.time_step, "substeps": self.substeps, "gravity": self.gravity,
            "contact_radius": self.contact_radius,
        }  # fmt: skip

    def reset(self) -> None:
        """All bodies back to where and as fast as they were at first; nothing is held, and time begins anew."""
        self._grabs.release()
        for part, first in zip(self._moving(), self._start, strict=True):
            part[:] = first
        self.contacts, self.impulses = ContactPoints.none(), np.zeros((0, 4))
        self.frames, self.time = 0, 0.0

    def grab(self, body: int, point: ArrayLike, target: ArrayLike | None = None) -> int:
        """Hold the point of a free body that is at `point` (m) from the next step on; see `vivace.rigid.grabs`.

            grab = sim.grab(1, sim.positions[1])
            sim.move_grab(grab, (0.0, 1.0, 0.0))  # a spring pulls it there
            sim.release(grab)                     # thrown: it keeps its velocity

        Args:
            body: its number; fixed bodies and those on paths cannot be held.
            point: of the body, in the world.
            target: where to pull it, by default where it is.

        Returns:
            The number of the grab, for `move_grab` and `release`.
        """
        return self._grabs.hold(body, point, target)

    def move_grab(self, grab: int, target: ArrayLike) -> None:
        """Pull what a grab holds towards another place (m) from the next step on."""
        self._grabs.move(grab, target)

    def release(self, grab: int | Iterable[int] | None = None) -> None:
        """Let go of what a grab holds, of several, or of all; bodies keep their velocities."""
        self._grabs.release(grab)

    @property
    def grabbed(self) -> tuple[int, ...]:
        """The numbers of the grabs that hold something."""
        return self._grabs.held

    @property
    def grabbed_points(self) -> np.ndarray:
        """(k, 3): where the held points are, in m, in the order of `grabbed`."""
        return self._grabs.points()

    def step(self) -> RigidReport:
        """Advance by one time step, in `substeps` equal parts."""
        begin = time.perf_counter_ns()
        h = self.time_step / self.substeps
        stages = dict.fromkeys(("detect", "solve", "apart", "move"), 0.0)
        iterations = tries = 0
        depth, residuals, colours = 0.0, np.zeros(0), np.zeros(0, np.int64)
        for part in range(self.substeps):
            deadline = None
            if self.budget.ms is not None:
                deadline = begin + int(1e6 * self.budget.ms * (part + 1) / self.substeps)
            solution, deepest = self._substep(h, deadline, stages)
            iterations, tries = iterations + solution.iterations, tries + solution.tries
            depth = max(depth, deepest)
            residuals, colours = solution.residuals, solution.colours
            self.time += h
        self.frames += 1
        late, residual = 0.0, float(residuals[-1]) if len(residuals) else 0.0
        if self.budget.ms is not None:
            late = max(0.0, (time.perf_counter_ns() - begin) / 1e6 - self.budget.ms)
        return RigidReport(
            self.frames, self.contacts, iterations, residual, tries, colours, depth, self.bodies.kinetic_energy(),
            stages, late, residuals,
        )  # fmt: skip

    def _substep(self, h: float, deadline: int | None, stages: dict[str, float]) -> tuple[Solution, float]:
        clock = time.perf_counter()

        def end(stage: str) -> None:
            nonlocal clock
            now = time.perf_counter()
            stages[stage] += 1e3 * (now - clock)
            clock = now

        begun = self.begin_substep(h)
        end("detect")
        found = self.solve_substep(begun, begun.free, deadline=deadline)
        end("solve")
        shown = found.velocities + self.apart(found, begun, h)
        end("apart")
        self.end_substep(begun, found, shown, h)
        end("move")
        return found.solution, begun.contacts.depth

    # --- the parts of a substep, for this and for simulations of soft bodies among rigid ones -----------------------

    def begin_substep(self, h: float) -> BegunSubstep:
        """Where bodies would go without contacts, and what they touch there."""
        bodies = self.bodies
        follow_paths(bodies, self.starts, self.time, h)
        turned = bodies.rotations()
        free = free_velocities(bodies, turned, self.gravity, h)
        self._apply_forces(free, turned, h)
        free = self._grabs.pulled(free, turned, h)
        reach = h * np.linalg.norm(free[:, :3], axis=1) + 2 * SLOP
        contacts = self.detector.find(bodies.positions, turned, reach, self.threads)
        keep = ~waiting(bodies, contacts)
        if not keep.all():
            contacts = contacts.selected(keep)
        geometry = contact_geometry(bodies, turned, contacts, self.contact_radius)
        return BegunSubstep(h, turned, free, contacts, geometry)

    def solve_substep(
        self,
        begun: BegunSubstep,
        free: np.ndarray,
        held: tuple[np.ndarray, np.ndarray] | None = None,
        start: np.ndarray | None = None,
        deadline: int | None = None,
        iterations: int | None = None,
    ) -> SolvedSubstep:
        """Velocities with contacts, for free velocities (M, 6).

        `held`: numbers of bodies that springs hold, and their inverse inertias of 6 x 6 with these. `start`: impulses
        to begin with; by default those that the same features had in the last substep. `iterations`: by default those
        of the budget.
        """
        contacts = begun.contacts
        problem = contact_problem(self.bodies, begun.geometry, contacts, free, begun.h)
        if held is not None:
            problem = problem.asking(problem.b, held=held)
        solution = self._solve(problem, self._remembered(contacts) if start is None else start, deadline, iterations)
        return SolvedSubstep(problem, solution, free + problem.velocities(solution.impulses))

    def end_substep(self, begun: BegunSubstep, found: SolvedSubstep, shown: np.ndarray, h: float) -> None:
        """Go on with what was found; `shown`: velocities (M, 6) that lead to the new poses."""
        new = found.velocities
        self.bodies.velocities[:], self.bodies.spins[:] = new[:, :3], new[:, 3:]
        self.contacts, self.impulses = begun.contacts, found.solution.impulses
        move(self.bodies, shown, h)

    def _apply_forces(self, free: np.ndarray, turned: np.ndarray, h: float) -> None:
        if self.forces.any():
            free[:, :3] += h * self.bodies.inverse_masses[:, None] * self.forces[:, :3]
            inverse = self.bodies.inverse_inertias(turned)
            free[:, 3:] += h * np.einsum("mij,mj->mi", inverse, self.forces[:, 3:])

    def _remembered(self, contacts: ContactPoints) -> np.ndarray:
        """The impulses that the same features had in the last substep."""
        start = np.zeros((len(contacts), 4))
        if len(self.contacts) and len(contacts):
            at = contacts.places_in(self.contacts)
            start[at >= 0] = self.impulses[at[at >= 0]]
        return start

    def _solve(
        self, problem: ContactProblem, start: np.ndarray, deadline: int | None, iterations: int | None
    ) -> Solution:
        return self.solver.solve(
            problem,
            iterations or self.budget.iterations or 1000,
            tolerance=self.budget.tolerance or 0.0,
            deadline_ns=deadline,
            start=start,
            threads=self.threads,
        )

    def apart(self, found: SolvedSubstep, begun: BegunSubstep, h: float) -> np.ndarray:
        """Velocities (M, 6) that move bodies apart in this substep, and are then forgotten: no energy comes of it."""
        contacts, problem, new = begun.contacts, found.problem, found.velocities
        if not (contacts.gaps < -SLOP).any():
            return np.zeros_like(new)
        gaps = contacts.gaps + h * problem.approaches(new)  # at the end of the substep
        wanted = np.where(gaps < -SLOP, APART * (gaps + SLOP), np.maximum(gaps, 0.0)) / h
        b = np.zeros((len(gaps), 4))
        b[:, 0] = wanted
        pushing = problem.smooth(b)
        pushed = self.solver.solve(pushing, PUSHES, threads=self.threads)
        return pushing.velocities(pushed.impulses)
