"""The step.

mesh + materials ──► Model ──► Simulation.step()      1 predict   s = q + h v + h² M⁻¹ f
                                                      2 collide   contacts become constraints
                                                      3 colour    only when the constraints changed
                                                      4 solve     sweeps until the budget is spent
                                                      5 guard     nothing has passed through anything
                                                      6 update    q, v
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .checks import check_seed, is_whole
from .collisions.contacts import NONE, Contacts
from .collisions.detector import Detector
from .colouring import Colouring
from .errors import InputError, UnknownNameError
from .kernels.team import SMALL, Job, Phase, check_threads
from .kernels.vectors import add_viscous, predict, update
from .model import Model
from .picking import as_ray, picked_vertex
from .report import Report, StageClock
from .solvers import Budget, Deadline, Solver, make_solver
from .system import Frame, System

FORMS = ("velocity", "verlet")


class Simulation:
    """A model in motion.

        sim = Simulation(model, budget=Budget(ms=8), time_step=1 / 30)
        report = sim.step()
        sim.positions

    solver     a name, "name:option=value", "name(inner)", ("name", {options}) or a Solver
    budget     a Budget, or a number of milliseconds
    time_step  h (s)
    threads    default: one for each core. The result does not depend on it (with a budget of iterations)
    seed       of the colouring
    form       what is kept between steps: "velocity", or "verlet", the last displacement [fratarcangeli2013, section 2]
    """

    def __init__(
        self,
        model: Model,
        *,
        solver: str | tuple[str, dict] | Solver = "auto",
        budget: Budget | float = 8.0,
        time_step: float = 1 / 30,
        threads: int | None = None,
        seed: int = 0,
        form: str = "velocity",
    ):
        if form not in FORMS:
            raise UnknownNameError("form", str(form), FORMS)
        if not isinstance(model, Model):
            raise InputError(f"a simulation is made of a Model (Model.of(mesh, material)), not {type(model).__name__}")
        self.solver = make_solver(solver)
        self.budget = budget
        self.threads, self.seed = check_threads(threads), check_seed(seed)
        n = model.n
        self._q, self._v = _rows(model.mesh.vertices), np.zeros((n, 4), np.float32)
        self._s, self._start, self._new, self._constant, self._target = (np.zeros((n, 4), np.float32) for _ in range(5))
        self._acceleration = np.zeros((n, 4), np.float32)
        self._forces = np.zeros((n, 3))
        self.form, self.frames = form, 0
        self._detector: Detector | None = None
        self._plain, self._grabbed = model, dict[int, np.ndarray]()  # the model without what is grabbed
        self._home = dict[int, np.ndarray]()  # where pins that are grabbed had their targets
        self._after_ns = 0  # what came after the last sweep took lately
        self._adopt(model, time_step)

    def __reduce__(self):
        raise InputError("a simulation cannot be copied or pickled; make a new one and set positions and velocities")

    def __repr__(self) -> str:
        return f"<Simulation of {self.model!r} by {self.solver.name}: frame {self.frames}>"

    # --- what a user reads and writes ---------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self.frames * self.system.h

    @property
    def model(self) -> Model:
        """What is simulated; assign one with the same vertices (pins or constraints added) to go on with it."""
        return self._model

    @model.setter
    def model(self, value: Model) -> None:
        if not isinstance(value, Model) or value.n != self._model.n:
            raise InputError(f"a running simulation takes a Model with its own {self._model.n} vertices")
        self._grabbed.clear()
        self._home.clear()
        self._plain = value
        self._adopt(value, self.system.h)

    @property
    def budget(self) -> Budget:
        """When a step stops; assign a Budget or a number of milliseconds."""
        return self._budget

    @budget.setter
    def budget(self, value: Budget | float) -> None:
        self._budget = value if isinstance(value, Budget) else Budget(ms=value)

    @property
    def gravity(self) -> np.ndarray:
        """Gravity (3,), m/s²: a copy; assign to change it from the next step on."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity = _checked("gravity", value, (3,)).copy()
        self.apply_forces(self._forces)

    @property
    def positions(self) -> np.ndarray:
        """Positions of the vertices (n, 3), m: a copy; assign the whole array to change them."""
        return self._q[:, :3].copy()

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self._q[:, :3] = _checked("positions", value, self._q[:, :3].shape)

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of the vertices (n, 3), m/s: a copy."""
        return self._v[:, :3] / self._per_velocity

    @velocities.setter
    def velocities(self, value: ArrayLike) -> None:
        self._v[:, :3] = _checked("velocities", value, self._v[:, :3].shape) * self._per_velocity

    @property
    def _per_velocity(self) -> np.float32:
        """What `_v` holds for each m/s: Verlet's form keeps q_n - q_(n-1) = h v."""
        return np.float32(self.system.h if self.form == "verlet" else 1.0)

    @property
    def targets(self) -> np.ndarray:
        """Where the pins hold `model.pinned` (p, 3), m: a copy; assign to move them."""
        return self._targets.copy()

    @targets.setter
    def targets(self, value: ArrayLike) -> None:
        self._targets[:] = _checked("targets", value, self._targets.shape)

    def apply_forces(self, forces: ArrayLike) -> None:
        """External forces on the vertices (n, 3), N, from now on; gravity comes on top."""
        self._forces = _checked("forces", forces, (self.model.n, 3))
        self._acceleration[:, :3] = self._gravity + self._forces / self.model.masses[:, None]

    def grab(self, what: int | tuple[ArrayLike, ArrayLike], target: ArrayLike | None = None) -> int | None:
        """Hold a vertex at `target` (default: where it is) from the next step on, as a pin that may move.

        `what`: the number of a vertex, or a ray (origin, direction), which takes the vertex it points at. Returns the
        vertex, or None where the ray hits nothing. Grab it again to move it; grab others to hold several.
        """
        vertex: int | None
        if isinstance(what, tuple):
            if len(what) != 2:
                raise InputError("a ray is a pair (origin, direction)")
            vertex = picked_vertex(_wide(self._q), self.model.mesh.triangles, *as_ray(*what))
            if vertex is None:
                return None
        elif is_whole(what) and 0 <= what < self.model.n:
            vertex = int(what)
        else:
            raise InputError(f"grab takes a vertex from 0 to {self.model.n - 1} or a ray, not {what!r}")
        place = self._q[vertex, :3].copy() if target is None else _checked("target", target, (3,))
        new = vertex not in self._grabbed
        self._grabbed[vertex] = np.asarray(place, np.float64)
        if new and vertex in self._plain.pinned:
            self._home[vertex] = self._targets[self._plain.pinned.tolist().index(vertex)].copy()
        self._hold(new)
        return vertex

    def release(self, vertex: int | None = None) -> None:
        """Let go of a grabbed vertex, or of all; they keep their velocity."""
        if vertex is not None and vertex not in self._grabbed:
            held = ", ".join(map(str, self._grabbed)) or "none"
            raise InputError(f"vertex {vertex!r} is not grabbed; those that are: {held}")
        for v in [vertex] if vertex is not None else list(self._grabbed):
            del self._grabbed[v]
            if v in self._home:
                self._targets[self._plain.pinned.tolist().index(v)] = self._home.pop(v)
        self._hold(True)

    @property
    def grabbed(self) -> tuple[int, ...]:
        """The vertices that are held."""
        return tuple(self._grabbed)

    def _hold(self, changed: bool) -> None:
        """Pin what is grabbed: a change of the model, or of targets alone."""
        own = self._plain.pinned
        loose = sorted(set(self._grabbed) - set(own.tolist()))
        if changed:
            targets, gravity = self._targets[: len(own)].copy(), self._gravity
            places = np.array([self._grabbed[v] for v in loose]).reshape(-1, 3)
            self._adopt(self._plain.pin(loose, target=places) if loose else self._plain, self.system.h)
            self._targets[: len(own)] = targets
            self.gravity = gravity
        for k, v in enumerate([*own.tolist(), *loose]):
            if v in self._grabbed:
                self._targets[k] = self._grabbed[v]

    @property
    def colouring(self) -> Colouring | None:
        """The colouring in use; None before the first step, or when the solver does not colour."""
        return self.solver.colouring

    # --- the step -------------------------------------------------------------------------------------------------

    def step(self, budget: Budget | float | None = None) -> Report:
        """Advance by one time step."""
        if budget is None:
            budget = self.budget
        elif not isinstance(budget, Budget):
            budget = Budget(ms=budget)
        clock = StageClock()

        self._predict()
        clock.end("predict")

        contacts = self._collide()
        clock.end("collide")

        new = self.prepare()
        if new:
            clock.restart_budget()  # a new solver's set-up is not part of a frame's budget
        self.solver.touch(contacts, self._q, self._start)
        clock.end("colour")

        deadline = Deadline.of(budget, reserve_ns=self._after_ns, start_ns=clock.start_ns)
        outcome = self.solver.solve(self._start, self._constant, self._new, deadline)
        clock.end("solve")

        stuck = self._keep_apart(contacts)
        clock.end("guard")

        frame = self._frame_getter()
        self._update()
        self.frames += 1
        clock.end("update")
        if not new:  # what comes after the last sweep: the largest of late, forgotten slowly, because it is a reserve
            self._after_ns = max(time.perf_counter_ns() - outcome.swept_ns, int(0.98 * self._after_ns))
        return Report(
            self.frames,
            outcome.sweeps,
            outcome.residual,
            outcome.stopped,
            clock.stages,
            self.solver.colours,
            len(contacts),
            stuck,
            outcome.note,
            self.system,
            frame,
            self._q.copy(),
        )

    def prepare(self, *, wait: bool = False) -> bool:
        """Colour and lay out now rather than in the first step; whether there was anything to do.

        `wait`: also for what the solver sets up in the background, while steps could already be made.
        """
        new = self.solver.system is not self.system and not self.solver.adapt(self.system)
        if new:
            self.solver.prepare(self.system, threads=self.threads, seed=self.seed)
        if wait:
            self.solver.wait()
        return new

    def _adopt(self, model: Model, h: float) -> None:
        """A new model or time step: a new system, for which the solver prepares in the next step."""
        self.system, self._model = System(model, h, like=getattr(self, "system", None)), model
        self._targets, self._gravity = model.targets.copy(), model.gravity
        self._target[:] = 0.0
        self._make_jobs()
        self.apply_forces(self._forces)

        if model.collisions is None:
            self._detector = None
        elif self._detector is None or self._detector.settings is not model.collisions:
            self._detector = Detector(model.mesh, model.collisions, model.masses)

    def _collide(self) -> Contacts:
        return NONE if self._detector is None else self._detector.find(self._q, self._start, self.threads)

    def _keep_apart(self, contacts: Contacts) -> int:
        """Nothing has passed through anything when the step ends, however short the solver's time was."""
        if self._detector is None:
            return 0
        held = self.system.pin_weight > 0
        return self._detector.keep_apart(self._q, self._new, contacts, held, self.threads)

    def _predict(self) -> None:
        pinned = self.model.pinned
        self._target[pinned, :3] = self._targets
        self._predict_job.run()

    def _update(self) -> None:
        self._update_job.run()

    def _make_jobs(self) -> None:
        system, n = self.system, self.model.n
        with np.errstate(over="ignore"):  # the solver's layout will say so
            single = [np.ascontiguousarray(a, np.float32) for a in (system.inertia, system.pin_weight)]
        arrays = (self._q, self._v, self._acceleration, *single, self._target, self._s, self._start, self._constant)
        unit = float(self._per_velocity)
        flight = np.array([system.glide * system.h / unit, system.h * unit], np.float32)
        phases = [Phase(predict, (*arrays, flight), 0, n)]
        if system.viscous:
            off = system.stiffness_off
            factor = np.array([system.viscous], np.float32)
            values, tie = off.data.astype(np.float32), system.stiffness_tie.astype(np.float32)
            arrays = (off.indptr, off.indices, values, tie, self._q, self._constant, factor)
            phases.append(Phase(add_viscous, arrays, 0, n))
        threads = self.threads if n > SMALL else 1
        self._predict_job = Job(phases, threads)
        rate = np.array([unit / system.h], np.float32)
        self._update_job = Job([Phase(update, (self._new, self._q, self._v, rate), 0, n)], threads)

    def _frame_getter(self) -> Callable[[], Frame]:
        """This step's data, in float64 when somebody asks."""
        s, start, previous, targets = self._s.copy(), self._start.copy(), self._q.copy(), self._targets.copy()
        return lambda: Frame(_wide(s), _wide(start), _wide(previous), targets)


def _rows(points: np.ndarray) -> np.ndarray:
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def _wide(rows: np.ndarray) -> np.ndarray:
    return rows[:, :3].astype(np.float64)


def _checked(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.asarray(value, np.float64)
    except (ValueError, TypeError):
        raise InputError(f"{name} must be numbers of shape {shape}") from None
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, not {array.shape}")
    with np.errstate(over="ignore"):
        bad = np.argwhere(~np.isfinite(array.astype(np.float32)))
    if len(bad):
        raise InputError(f"{name} must be finite; vertex {bad[0, 0]} is not: {array[tuple(bad[0])]} (in float32)")
    return array
