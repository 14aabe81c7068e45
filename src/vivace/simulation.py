"""The step.

mesh + materials ──► Model ──► Simulation.step()      1 predict   s = q + h v + h² M⁻¹ f
                                                      2 collide   contacts become constraints
                                                      3 colour    only when the constraints changed
                                                      4 solve     sweeps until the budget is spent
                                                      5 guard     nothing has passed through anything
                                                      6 update    q, v

A step is made of equal parts (substeps), each of which goes through all of these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .checks import (
    FASTEST,
    LARGEST,
    STRONGEST,
    as_list,
    as_numbers,
    check_name,
    check_seed,
    check_time_step,
    is_whole,
    shown,
)
from .collisions.contacts import NONE, Contacts
from .collisions.detector import Detector
from .colouring import Colouring
from .errors import InputError
from .holding import Held, as_vertices
from .integrators import INTEGRATORS, Bdf2
from .kernels.team import SMALL, Job, Phase, check_threads
from .kernels.vectors import add_viscous, aim, copy_rows, hold_back, predict, update
from .model import Model
from .picking import as_ray, picked_vertex
from .report import Report, StageClock
from .solvers import Budget, Deadline, Outcome, Solver, as_budget, make_solver
from .solvers.base import PartsJob
from .system import Frame, System
from .wind import Wind

if TYPE_CHECKING:
    from .viewer import Viewer

FORMS = ("velocity", "verlet")
MOST_SUBSTEPS = 1000
GUESSES = ("inertia", "adaptive")
PRESSED = 0.1  # share of gravity that the adaptive guess leaves to what touches; more makes edges tremble
SMALL_WINDY = 4_000  # vertices below which no helper is woken for what the wind does to them


class Simulation:
    """A model in motion.

        sim = Simulation(model, budget=Budget(ms=8), time_step=1 / 30)
        report = sim.step()
        sim.positions

    solver     a name, "name:option=value", "name(inner)", ("name", {options}) or a Solver
    budget     a Budget, or a number of milliseconds
    time_step  of a frame (s)
    substeps   steps of equal length that a frame is made of: a number, or "auto", as many as the solver finds best for
               the budget. More of them follow the motion more closely; the budget is the frame's
    threads    default: one for each core. The result does not depend on it (with a budget of iterations)
    seed       of the colouring
    form       what is kept between steps: "velocity", or "verlet", the last displacement [fratarcangeli2013, section 2]
    guess      where solvers of projective dynamics start: "inertia", at the prediction, or "adaptive", without what the
               last step did not let through of gravity and other forces [chen2024]: what lies then keeps still however
               few and however many sweeps a step has, and what swings lags behind. For solvers that sweep over
               vertices: under others cloth is stretched between what is held back and what is not
    integrator "euler", implicit, or "bdf2", of second order in time: it follows motion more closely and damps less, and
               cannot gain energy however short the solver's time is (see `vivace.integrators`). Not with "verlet"
    trace      reports have the residual of every sweep (`Report.residuals`); may be switched at any time
    """

    def __init__(
        self,
        model: Model,
        *,
        solver: str | tuple[str, dict] | Solver = "auto",
        budget: Budget | float = 8.0,
        time_step: float = 1 / 30,
        substeps: int | str = "auto",
        threads: int | None = None,
        seed: int = 0,
        form: str = "velocity",
        guess: str = "inertia",
        integrator: str = "euler",
        trace: bool = False,
    ):
        check_name("form", form, FORMS)
        check_name("guess", guess, GUESSES)
        check_name("integrator", integrator, INTEGRATORS)
        if integrator == "bdf2" and form == "verlet":
            raise InputError('integrator="bdf2" does not go with form="verlet"; take form="velocity"')
        if not isinstance(model, Model):
            raise InputError(f"a simulation is made of a Model (Model.of(mesh, material)), not {type(model).__name__}")
        self._solver = make_solver(solver)
        self._budget = as_budget(budget)
        self._asked_substeps = _check_substeps(substeps)
        self.threads, self.seed = check_threads(threads), check_seed(seed)
        n = model.n
        self._q, self._v = _rows(model.mesh.vertices), np.zeros((n, 4), np.float32)
        self._s, self._start, self._new, self._constant, self._target = (np.zeros((n, 4), np.float32) for _ in range(5))
        self._acceleration = np.zeros((n, 4), np.float32)
        self._forces = np.zeros((n, 3))
        moving = self._q, self._v, self._new, self._acceleration
        self._bdf2 = Bdf2(*moving) if integrator == "bdf2" else None
        self.form, self.guess, self.frames, self.trace = form, guess, 0, trace
        self._before = np.zeros((n, 4), np.float32)  # velocities a step ago
        self._previous = np.zeros((n, 4), np.float32)  # positions before the last of several substeps
        self._together: tuple[tuple, np.ndarray, PartsJob | None] | None = None  # the substeps of a frame as one job
        self._moving = False  # whether there was such a step
        self._pressed = np.zeros(n, np.float32)
        self._shares = np.ones(n, np.float32)  # of external accelerations that steps have let through of late
        self._seconds, self._from_frame = 0.0, 0  # simulated until the time step last changed, and the frame of that
        self._detector: Detector | None = None
        self._held, self._gravity = Held(model), model.gravity
        self._wind = np.zeros(3)
        self._windy: tuple[Wind, Job] | None = None  # made when there is wind
        self._after_ns = 0  # what came after the last sweep took lately
        self._h, self._substeps = check_time_step(time_step), 1
        self._last_targets: tuple[np.ndarray, np.ndarray] | None = None  # pins at the end of the last step, and where
        self._adopt(model)

    def __reduce__(self):
        raise InputError("a simulation cannot be copied or pickled; make a new one and set positions and velocities")

    def __repr__(self) -> str:
        return f"<Simulation of {self.model!r} by {self.solver.name}: frame {self.frames}>"

    # --- what a user reads and writes ---------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self._seconds + (self.frames - self._from_frame) * self._h

    @property
    def time_step(self) -> float:
        """Of a frame (s); assign to change it from the next step on. All else stays as it is, velocities too."""
        return self._h

    @time_step.setter
    def time_step(self, value: float) -> None:
        h, time = check_time_step(value), self.time
        if h == self._h:
            return
        _pulled(self._model, self._gravity, self._forces, h)
        self._h = h
        self._adopt(self._model)
        self._seconds, self._from_frame = time, self.frames

    @property
    def integrator(self) -> str:
        """How steps follow each other: "euler" or "bdf2"."""
        return "euler" if self._bdf2 is None else "bdf2"

    @property
    def substeps(self) -> int:
        """How many steps a frame is made of; assign a number, or "auto" to leave it to the solver."""
        return self._substeps

    @substeps.setter
    def substeps(self, value: int | str) -> None:
        self._asked_substeps = _check_substeps(value)
        self._adopt(self._model)

    @property
    def asked_substeps(self) -> int | str:
        """What was asked for: a number, or "auto"."""
        return self._asked_substeps

    @property
    def solver(self) -> Solver:
        """Who solves; assign what the constructor takes, and the next step is prepared for and solved by it."""
        return self._solver

    @solver.setter
    def solver(self, value: str | tuple[str, dict] | Solver) -> None:
        self._solver = make_solver(value)
        self._after_ns = 0
        self._choose_substeps()

    @property
    def model(self) -> Model:
        """What is simulated; assign one with the same vertices (pins or constraints added) to go on with it.

        Nothing but positions, velocities and forces is kept then; see `exchange`.
        """
        return self._model

    @model.setter
    def model(self, value: Model) -> None:
        self._check_model(value)
        self._held, self._gravity = Held(value), value.gravity
        self._adopt(value)

    def exchange(self, model: Model) -> None:
        """Go on with another model of the same vertices from the next step on, and keep all that was set.

        That is gravity, wind, forces, what is grabbed, and moved targets of pins that both models have (the same
        vertex, held at the same place at first). `model`: without pins for what is grabbed, which it gets.

            sim.exchange(model.stiffened(2.0))
        """
        self._check_model(model)
        held = self._held.over(model)
        self._adopt(held.model)
        self._held = held

    def _check_model(self, value: Model) -> None:
        if not isinstance(value, Model) or value.n != self._model.n:
            raise InputError(f"a running simulation takes a Model with its own {self._model.n} vertices")
        _pulled(value, value.gravity, self._forces, self._h)

    @property
    def budget(self) -> Budget:
        """When a step stops; assign a Budget or a number of milliseconds."""
        return self._budget

    @budget.setter
    def budget(self, value: Budget | float) -> None:
        self._budget = as_budget(value)
        self._choose_substeps()

    @property
    def gravity(self) -> np.ndarray:
        """Gravity (3,), m/s²: a copy; assign to change it from the next step on."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        gravity = as_numbers("gravity", value, (3,), most=STRONGEST, unit="m/s²").copy()
        _pulled(self._model, gravity, self._forces, self._h)
        self._gravity = gravity
        self._accelerate()

    @property
    def wind(self) -> np.ndarray:
        """Velocity of the air (3,), m/s: a copy; assign to change it from the next step on. See `vivace.wind`.

        It presses on triangles: a model without any, such as a wire, does not feel it. Zero is no wind at all, not
        still air, which is the model's `air`.
        """
        return self._wind.copy()

    @wind.setter
    def wind(self, value: ArrayLike) -> None:
        self._wind = as_numbers("wind", value, (3,), most=FASTEST, unit="m/s").copy()

    @property
    def positions(self) -> np.ndarray:
        """Positions of the vertices (n, 3), m: a copy; assign the whole array to change them."""
        return self._q[:, :3].copy()

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        positions = as_numbers("positions", value, self._q[:, :3].shape, most=LARGEST)
        self._q[:] = _rows(positions)  # the fourth column may be lost too
        self._restart()

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of the vertices (n, 3), m/s: a copy."""
        return self._v[:, :3] / self._per_velocity

    @velocities.setter
    def velocities(self, value: ArrayLike) -> None:
        most = min(FASTEST, LARGEST / self._h)  # that no step leads farther than positions may be
        velocities = as_numbers("velocities", value, self._v[:, :3].shape, most=most, unit="m/s")
        self._v[:] = _rows(velocities * self._per_velocity)
        self._moving, self._shares[:] = False, 1.0
        self._restart()

    def _restart(self) -> None:
        """What was before the present positions and velocities does not lead to them."""
        self._solver.forget()
        if self._bdf2 is not None:
            self._bdf2.restart()

    @property
    def _per_velocity(self) -> np.float32:
        """What `_v` holds for each m/s: Verlet's form keeps q_n - q_(n-1) = h v."""
        return np.float32(self.system.h if self.form == "verlet" else 1.0)

    @property
    def _length(self) -> float:
        """Of a substep (s); `system.h` is what the integrator makes of it."""
        return self._h / self._substeps

    @property
    def targets(self) -> np.ndarray:
        """Where the pins hold `model.pinned` (p, 3), m: a copy; assign to move them."""
        return self._held.targets.copy()

    @targets.setter
    def targets(self, value: ArrayLike) -> None:
        self._held.targets[:] = as_numbers("targets", value, self._held.targets.shape, most=LARGEST)

    def apply_forces(self, forces: ArrayLike) -> None:
        """External forces on the vertices (n, 3), N, from now on; gravity comes on top."""
        given = as_numbers("forces", forces, (self.model.n, 3)).copy()
        _pulled(self._model, self._gravity, given, self._h)
        self._forces = given
        self._accelerate()

    def _accelerate(self) -> None:
        self._acceleration[:, :3] = _pulled(self._model, self._gravity, self._forces, self._h)

    def grab(
        self, what: int | Sequence[int] | np.ndarray | tuple[ArrayLike, ArrayLike], target: ArrayLike | None = None
    ) -> int | tuple[int, ...] | None:
        """Hold a vertex at `target` (3,) (default: where it is) from the next step on, as a pin that may move.

        `what`: the number of a vertex; a sequence of k numbers, with a `target` (k, 3); or a ray (origin, direction),
        which takes the vertex it points at. Returns the vertex or the vertices, or None where the ray hits nothing.
        Grab again to move them, which costs nothing; grab others to hold more.
        """
        if isinstance(what, tuple) and as_vertices(what, self.model.n) is None:
            if len(what) != 2:
                raise InputError("a ray is a pair (origin, direction)")
            hit = picked_vertex(_wide(self._q), self.model.mesh.triangles, *as_ray(*what))
            return None if hit is None else self.grab(hit, target)
        single = is_whole(what)
        vertices = as_vertices([what] if single else what, self.model.n)
        if vertices is None:
            most = self.model.n - 1
            raise InputError(f"grab takes a vertex from 0 to {most}, a sequence of them or a ray, not {shown(what)}")
        if target is None:
            places = _wide(self._q[vertices])
        else:
            shape = (3,) if single else (len(vertices), 3)
            places = as_numbers("target", target, shape, most=LARGEST).reshape(-1, 3)
        self._held.grab(vertices, places)
        self._hold()
        return vertices[0] if single else tuple(vertices)

    def release(self, what: int | Iterable[int] | None = None) -> None:
        """Let go of a grabbed vertex, of several, or of all; they keep their velocity."""
        held = self._held.grabbed
        given = held if what is None else as_list("vertices", what) if isinstance(what, Iterable) else [what]
        for vertex in given:
            if not is_whole(vertex) or vertex not in held:
                raise InputError(
                    f"vertex {shown(vertex)} is not grabbed; those that are: {', '.join(map(str, held)) or 'none'}"
                )
        self._held.release(dict.fromkeys(int(vertex) for vertex in given))
        self._hold()

    @property
    def grabbed(self) -> tuple[int, ...]:
        """The vertices that are held."""
        return self._held.grabbed

    def _hold(self) -> None:
        """Go on with the pins of what is grabbed, if they have changed."""
        if self._held.model is not self._model:
            self._adopt(self._held.model)

    def view(self, *, name: str = "simulation", browser: bool | None = None, **options) -> Viewer:
        """Show this simulation in the browser while it runs: look, grab, change. In a notebook the page is the result.

        `browser`: open one (default: unless in a notebook). Options: those of `vivace.viewer.Viewer`, host, port, ...
        It runs until `stop()` of what is returned is called; from then on it is yours to step again.
        """
        from .viewer import view_simulation

        return view_simulation(self, name=name, browser=browser, **options)

    @property
    def colouring(self) -> Colouring | None:
        """The colouring in use; None before the first step, or when the solver does not colour."""
        return self.solver.colouring

    # --- the step -------------------------------------------------------------------------------------------------

    def step(self, budget: Budget | float | None = None) -> Report:
        """Advance by one time step, in `substeps` equal parts."""
        budget = self.budget if budget is None else as_budget(budget)
        clock, parts, last = StageClock(), [], self._held.targets
        if self._bdf2 is not None:
            self._bdf2.begin()
        first = self._targets_before()
        together = self._all_substeps(clock, budget, first, last)
        if together is not None:
            parts.append(together)
        for k in range(0 if parts else self._substeps):
            self._aim(_between(first, last, k + 1, self._substeps))
            parts.append(self._substep(clock, budget, k))
        self._last_targets = self.model.pinned, last.copy()
        self.frames += 1
        return self._report(clock, budget, parts)

    def _substep(self, clock: StageClock, budget: Budget, k: int) -> _Part:
        """Part k of a frame."""
        new = self.prepare()
        if new:
            clock.restart_budget()  # a new solver's set-up is not part of a frame's budget
        clock.end("colour")

        self._predict()
        clock.end("predict")

        contacts = self._collide()
        clock.end("collide")
        if self.guess == "adaptive" and self._moving and self.solver.starts_anywhere:
            self._hold_back(contacts)

        self.solver.touch(contacts, self._q, self._s)
        clock.end("colour")

        share = budget.part(k, self._substeps)
        deadline = Deadline.of(share, reserve_ns=self._after_ns, start_ns=clock.start_ns, trace=bool(self.trace))
        outcome = self.solver.solve(self._start, self._constant, self._new, deadline)
        if self._bdf2 is not None and self._bdf2.look_back():
            self._predict()
            outcome = self.solver.solve(self._start, self._constant, self._new, deadline)
        clock.end("solve")

        solved = self._new.copy() if self._bdf2 is not None and self._detector is not None else self._new
        stuck = self._keep_apart(contacts)
        clock.end("guard")

        frame = self._frame_getter(self._origin) if k == self._substeps - 1 else None
        self._before[:], self._moving = self._v, True
        self._update(contacts, solved)
        clock.end("update")
        if not new:  # what comes after the last sweep: the largest of late, forgotten slowly, because it is a reserve
            self._after_ns = max(time.perf_counter_ns() - outcome.swept_ns, int(0.98 * self._after_ns))
        return _Part(outcome, contacts, stuck, frame)

    def _all_substeps(self, clock: StageClock, budget: Budget, first: np.ndarray, last: np.ndarray) -> _Part | None:
        """All parts of a frame without coming back to Python between them, where nothing has to be found in between."""
        plain = self._detector is None and not self._wind.any() and self.guess == "inertia" and not self.trace
        starting = self._bdf2 is not None and self._bdf2.starting
        if self._substeps == 1 or not plain or starting or budget.tolerance is not None:
            return None
        if self.prepare():
            clock.restart_budget()
        if budget.ms is None:
            self.solver.wait()
        self._travel[2] = self.solver.snaps_pins
        pinned = self.model.pinned
        key = (self.solver, self.system, self._substeps, self.solver.plan)
        if self._together is None or self._together[0] != key:
            rows = np.zeros((2, len(pinned), 4), np.float32)
            aims = (pinned, rows[0], rows[1], self._target, np.array([self._substeps], np.float32))
            before = [Phase(aim, aims, 0, len(pinned), serial=True)] if len(pinned) else []
            after = [Phase(copy_rows, (self._origin, self._previous), 0, self.model.n), *self._landing]
            buffers = self._start, self._constant, self._new
            job = self.solver.parts_job(*buffers, [*before, *self._opening, self._flight, *self._viscous], after)
            self._together = key, rows, job
        _, rows, job = self._together
        if job is None:
            return None
        rows[:, :, :3] = first, last
        self._aimed = last
        clock.end("colour")
        parts = range(self._substeps)
        shares = [budget.part(k, self._substeps) for k in parts]
        outcome = job([Deadline.of(share, reserve_ns=self._after_ns, start_ns=clock.start_ns) for share in shares])
        self._moving = False
        clock.end("solve")
        return _Part(outcome, NONE, 0, self._frame_getter(self._previous))

    def _report(self, clock: StageClock, budget: Budget, parts: list[_Part]) -> Report:
        outcome, contacts = parts[-1].outcome, parts[-1].contacts
        assert parts[-1].frame is not None
        return Report(
            self.frames,
            sum(part.outcome.sweeps for part in parts),
            outcome.residual,
            outcome.residuals,
            outcome.stopped,
            clock.stages,
            self.solver.colours,
            len(contacts),
            sum(part.stuck for part in parts),
            "; ".join(dict.fromkeys(part.outcome.note for part in parts if part.outcome.note)),
            self.system,
            parts[-1].frame,
            self._q.copy(),
            contacts,
            substeps=self._substeps,
            budget_ms=budget.ms,
        )

    def prepare(self, *, wait: bool = False) -> bool:
        """Colour and lay out now rather than in the first step; whether there was anything to do.

        `wait`: also for what the solver sets up in the background, while steps could already be made.
        """
        new = self.solver.system is not self.system and not self.solver.adapt(self.system)
        if new:
            self.solver.prepare(self.system, threads=self.threads, seed=self.seed)
            _ = self.model.firm  # so that a first grab finds it
        if wait:
            self.solver.wait()
        return new

    def _choose_substeps(self) -> None:
        """Go on with other steps if the solver wants another number of them under this budget."""
        if self._wanted_substeps(self._model) != self._substeps:
            self._adopt(self._model)

    def _wanted_substeps(self, model: Model) -> int:
        asked = self._asked_substeps
        return asked if isinstance(asked, int) else self._solver.substeps_for(model, self._h, self._budget)

    def _adopt(self, model: Model) -> None:
        """A new model or time step: a new system, for which the solver prepares in the next step."""
        before: System | None = getattr(self, "system", None)
        self._substeps = self._wanted_substeps(model)
        reach = 1.0 if self._bdf2 is None else self._bdf2.reach
        system = System(model, reach * self._length, like=before)
        if before is not None and self.form == "verlet":
            self._v[:, :3] *= np.float32(system.h / before.h)
        self._target[:] = 0.0
        if before is not None and system.shares_structure(before):  # pins alone: within a frame
            self.system, self._model = system, model
            self._load_pins()
        else:
            self.system, self._model = system, model
            self._make_jobs()
            self._accelerate()

        if model.collisions is None:
            self._detector = None
        elif (
            self._detector is None
            or self._detector.settings is not model.collisions
            or (before is not None and before.model.masses is not model.masses)
        ):
            self._detector = Detector(model.mesh, model.collisions, model.masses)

    def _collide(self) -> Contacts:
        return NONE if self._detector is None else self._detector.find(self._q, self._start, self.threads)

    def _keep_apart(self, contacts: Contacts) -> int:
        """Nothing has passed through anything when the step ends, however short the solver's time was."""
        if self._detector is None:
            return 0
        held = self.system.pin_weight > 0
        return self._detector.keep_apart(self._q, self._new, contacts, held, self.threads)

    def _targets_before(self) -> np.ndarray:
        """Where pins were at the end of the last step; new ones are where they are to be."""
        first = self._held.targets.copy()
        if self._last_targets is not None:
            vertices, places = self._last_targets
            _, old, new = np.intersect1d(vertices, self.model.pinned, assume_unique=True, return_indices=True)
            first[new] = places[old]
        return first

    def _aim(self, targets: np.ndarray) -> None:
        """Where pins hold their vertices in this part of a frame."""
        self._aimed = targets
        self._target[self.model.pinned, :3] = targets

    def _predict(self) -> None:
        self._travel[2] = self.solver.snaps_pins
        if self._wind.any() and len(self.model.mesh.triangles):
            self._predict_in_wind()
        else:
            self._predict_job.run()

    def _predict_in_wind(self) -> None:
        if self._windy is None:
            air = Wind(self.model, self._length, float(self._per_velocity))
            table = self._flight.arrays
            flight = replace(self._flight, arrays=(*table[:2], air.total, *table[3:]))
            phases = [*self._opening, *air.phases(self._q, self._v, self._acceleration), flight, *self._viscous]
            if self._bdf2 is not None:  # the wind's work counts
                phases.append(Phase(copy_rows, (air.total, self._bdf2.pulled), 0, self.model.n))
            self._windy = air, Job(phases, self.threads if self.model.n > SMALL_WINDY else 1)
        air, job = self._windy
        air.set(self._wind)
        job.run()

    def _hold_back(self, contacts: Contacts) -> None:
        """The adaptive guess; but what touches is pressed on a little, or there would be no friction."""
        touching = contacts.walls.vertices, contacts.pairs.vertices
        for vertices in touching:
            self._pressed[vertices] = PRESSED
        self._hold_back_job.run()
        for vertices in touching:
            self._pressed[vertices] = 0.0

    def _update(self, contacts: Contacts, solved: np.ndarray) -> None:
        """`solved`: positions before the guard."""
        if self._bdf2 is None:
            self._update_job.run()
        else:
            stopped = np.flatnonzero((solved != self._new).any(axis=1)) if solved is not self._new else np.zeros(0)
            self._bdf2.land(contacts, stopped.astype(np.int32))

    @property
    def _origin(self) -> np.ndarray:
        """Where the step's problem begins: q_n, or what BDF2 takes for it."""
        return self._q if self._bdf2 is None else self._bdf2.from_q

    def _make_jobs(self) -> None:
        system, n = self.system, self.model.n
        with np.errstate(over="ignore"):  # the solver's layout will say so
            inertia = system.inertia.astype(np.float32)
        self._pin_weight = np.zeros(n, np.float32)
        self._load_pins()
        origin, bdf2 = self._origin, self._bdf2
        self._opening: list[Phase] = []
        if bdf2 is not None:
            bdf2.prepare(system, self._length, self._pin_weight, self._target, self.threads)
            self._opening.append(bdf2.opening)
        velocity = self._v if bdf2 is None else bdf2.from_v
        moving, made = (origin, velocity, self._acceleration), (self._s, self._start, self._constant)
        unit = float(self._per_velocity)
        self._travel = np.array([system.glide * system.h / unit, system.h * unit, 1.0], np.float32)
        self._flight = Phase(predict, (*moving, inertia, self._pin_weight, self._target, *made, self._travel), 0, n)
        self._viscous: list[Phase] = []
        if system.viscous:
            off = system.stiffness_off
            with np.errstate(over="ignore"):
                factor = np.array([system.viscous]).astype(np.float32)
                values, tie = off.data.astype(np.float32), system.stiffness_tie.astype(np.float32)
            table = (off.indptr, off.indices, values, tie, origin, self._constant, factor)
            self._viscous.append(Phase(add_viscous, table, 0, n))
        threads = self.threads if n > SMALL else 1
        self._predict_job = Job([*self._opening, self._flight, *self._viscous], threads)
        self._windy = None
        fall = np.array([1 / (unit * self._length), system.glide * system.h**2], np.float32)
        held = (
            self._v,
            self._before,
            self._acceleration,
            self._start,
            self._pin_weight,
            self._shares,
            self._pressed,
            fall,
        )
        self._hold_back_job = Job([Phase(hold_back, held, 0, n)], threads)
        rate = np.array([unit / system.h], np.float32)
        self._landing = [Phase(update, (self._new, self._q, self._v, rate), 0, n)] if bdf2 is None else bdf2.closing
        self._update_job = Job(self._landing, threads)
        self._together = None

    def _load_pins(self) -> None:
        with np.errstate(over="ignore"):
            self._pin_weight[:] = self.system.pin_weight

    def _frame_getter(self, previous: np.ndarray) -> Callable[[], Frame]:
        """This step's data, in float64 when somebody asks."""
        s, start, previous, targets = self._s.copy(), self._start.copy(), previous.copy(), self._aimed.copy()
        return lambda: Frame(_wide(s), _wide(start), _wide(previous), targets)


@dataclass(frozen=True, eq=False)
class _Part:
    """What one of the equal parts of a step did; `frame`: the problem it solved, of the last one only."""

    outcome: Outcome
    contacts: Contacts
    stuck: int
    frame: Callable[[], Frame] | None


def _check_substeps(value: int | str) -> int | str:
    if isinstance(value, str) and value == "auto":
        return value
    if not is_whole(value) or not 1 <= int(value) <= MOST_SUBSTEPS:
        raise InputError(f'substeps must be "auto" or a whole number from 1 to {MOST_SUBSTEPS}, not {shown(value)}')
    return int(value)


def _rows(points: np.ndarray) -> np.ndarray:
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def _between(first: np.ndarray, last: np.ndarray, part: int, parts: int) -> np.ndarray:
    """Targets after so many of the equal parts of a frame, in the arithmetic of `kernels.vectors.aim`."""
    if part == parts:
        return last
    old = first.astype(np.float32)
    return old + np.float32(part) / np.float32(parts) * (last.astype(np.float32) - old)


def _wide(rows: np.ndarray) -> np.ndarray:
    return rows[:, :3].astype(np.float64)


def _pulled(model: Model, gravity: np.ndarray, forces: np.ndarray, h: float) -> np.ndarray:
    """Accelerations (n, 3) by gravity and forces, none of which leads farther in a step than float32 has room for."""
    with np.errstate(over="ignore"):
        pulled = gravity + forces / model.masses[:, None]
        farthest = float(np.abs(pulled).max(initial=0.0)) * h**2
    if not farthest <= LARGEST:
        raise InputError(
            f"gravity and forces would move a vertex by {farthest:.3g} m in a time step of {h:g} s; positions must "
            f"stay within {LARGEST:g} m, beyond which float32 overflows: shorten the step or weaken them"
        )
    return pulled
