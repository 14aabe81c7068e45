"""The step.

mesh + materials ──► Model ──► Simulation.step()      1 predict   s = q + h v + h² M⁻¹ f
                                                      2 collide   contacts become constraints
                                                      3 colour    only when the constraints changed
                                                      4 solve     sweeps until the budget is spent
                                                      5 guard     nothing has passed through anything
                                                      6 update    q, v

A step is made of equal parts (substeps), each of which goes through all of these. What is carried from step to step is
in `state`; the vectors that move, and how, in `motion`; what is held, in `grabs`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from ..backends.cpu.executor import check_threads, phase_times
from ..checks import check_seed, check_time_step
from ..collisions.contacts import NONE, Contacts
from ..collisions.detector import Detector
from ..collisions.moving import Poses
from ..energy.system import HOLD, System
from ..errors import InputError
from ..model import Model
from ..solvers import Budget, Deadline, Outcome, Solver, as_budget, make_solver
from ..solvers.base import SubstepsPlan
from ..solvers.budget import LEAST_OF_PARTS
from .attached import fitted, untouched
from .controls import Controls, check_substeps
from .creases import Creases
from .grabs import Grabs
from .guesses import take_guess
from .hands import Hands
from .motion import Motion, between, check_suits, check_ways
from .quasi_static import Equilibrium, check_held, settle
from .report import Part, Report, StageClock, milliseconds
from .rigid_part import RigidPart


class Simulation(Controls):
    """A model in motion.

        sim = Simulation(model, budget=Budget(ms=8), time_step=1 / 30)
        report = sim.step()
        sim.positions

    Args:
        model: what moves.
        solver: a name, "name:option=value", "name(inner)", ("name", {options}) or a Solver.
        budget: a Budget, or a number of milliseconds.
        time_step: of a frame (s).
        substeps: steps of equal length that a frame is made of: a number, or "auto", as many as the solver finds best
            for the budget. More of them follow the motion more closely; the budget is the frame's.
        threads: default: one for each core, or one alone if that is faster; results are the same (by iterations).
        seed: of the colouring.
        form: what is kept between steps: "velocity", or "verlet", the last displacement [fratarcangeli2013, section 2].
        guess: where solvers that minimise an energy start: "inertia", at the prediction, "position", "velocity",
            "acceleration", "optimised" or "adaptive" (see `guesses`). With the last, what lies keeps still however few
            and many sweeps a step has, and what swings lags behind: for solvers that sweep over vertices, under others
            cloth is stretched between what is held back and what is not.
        integrator: "euler", implicit, or "bdf2", of second order in time: it follows motion more closely and damps
            less, and cannot gain energy however short the solver's time is (see `integrators`). Not with "verlet".
            "quasi-static": steps without inertia, each of which goes to where all forces are in balance, as far as the
            budget leads; velocities are zero. See `equilibrium`.
        trace: reports have the residual of every sweep (`Report.residuals`); may be switched at any time.
    """

    def __init__(
        self,
        model: Model,
        *,
        solver: str | tuple[str, dict[str, Any]] | Solver = "auto",
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
        check_ways(form, guess, integrator)
        if not isinstance(model, Model):
            raise InputError(f"a simulation is made of a Model (Model.of(mesh, material)), not {type(model).__name__}")
        self._solver = make_solver(solver)
        self._budget = as_budget(budget)
        self._asked_substeps = check_substeps(substeps)
        self.threads, self.seed = check_threads(threads), check_seed(seed)
        self.guess, self.integrator, self.frames, self.trace = guess, integrator, 0, trace
        self._motion = Motion(model, form, integrator, self.threads)
        self._forces, self._gravity, self._wind = np.zeros((model.n, 3)), model.gravity, np.zeros(3)
        self._grabs, self._hands, self._creases = Grabs(model), Hands(model.mesh), Creases()
        self._last_targets: tuple[np.ndarray, np.ndarray] | None = None  # pins after the last step, and where
        self._seconds, self._from_frame = 0.0, 0  # simulated until the time step last changed, and the frame of that
        self._together: tuple[tuple[object, ...], np.ndarray, SubstepsPlan | None] | None = None  # made for; plan
        self._detector: Detector | None = None
        self.bodies: RigidPart | None = None
        self._after_ns = 0  # what came after the last sweep took lately
        self._h, self._substeps = check_time_step(time_step), 1
        self._adopt(model)

    def __reduce__(self) -> NoReturn:
        raise InputError("a simulation cannot be copied or pickled; make a new one and assign its `state`")

    def __repr__(self) -> str:
        return f"<Simulation of {self.model!r} by {self.solver.name}: frame {self.frames}>"

    # --- the step -------------------------------------------------------------------------------------------------

    def step(self, budget: Budget | float | None = None) -> Report:
        """Advance by one time step, in `substeps` equal parts; `budget`: for this step alone."""
        budget = self.budget if budget is None else as_budget(budget)
        if self.system.static:
            check_held(self.system)
        self._lead_hands()
        clock, parts, last = StageClock(), [], self._grabs.targets
        fresh = self.prepare()  # before substeps are counted: a solver that times itself may want another number
        if fresh:
            clock.restart_budget()
        if self._motion.bdf2 is not None:
            self._motion.bdf2.begin()
        first = self._targets_before()
        together = self._all_substeps(clock, budget, first, last)
        if together is not None:
            parts.append(together)
        for k in range(0 if parts else self._substeps):
            self._aim(self._targets_after(between(first, last, k + 1, self._substeps), k + 1))
            parts.append(self._substep(clock, budget, k, fresh and k == 0))
        self._last_targets = self.model.pinned, last.copy()
        self.frames += 1
        report = self._report(clock, budget, parts)
        self._let_hands_slip()
        return report

    def equilibrium(
        self, *, within: float = 1e-5, most: int = 100, budget: Budget | float | None = None
    ) -> Equilibrium:
        """Make steps until all forces are in balance; of a simulation with integrator="quasi-static".

        Args:
            within: no vertex moves by more than this in the last step (m).
            most: steps at most.
            budget: of each step; by default the simulation's own.
        """
        if not self.system.static:
            raise InputError(f'equilibrium needs integrator="quasi-static"; this simulation has {self.integrator!r}')
        return settle(lambda: self.step(budget), self.positions, within, most)

    def _substep(self, clock: StageClock, budget: Budget, k: int, fresh: bool) -> Part:
        """Part k of a frame; `fresh`: the solver was set up for it, which is not part of a frame's budget."""
        motion, solver = self._motion, self.solver
        clock.end("colour")

        self._begin_bodies(k)
        clock.end("collide")
        self._predict()
        clock.end("predict")

        contacts = self._find_contacts()
        clock.end("collide")
        if solver.starts_anywhere:
            take_guess(self.guess, motion, self.system, contacts, self._aimed)

        contacts, outcome, phases = self._solve(clock, budget, k, contacts)

        solved = motion.new.copy() if motion.bdf2 is not None and self._detector is not None else motion.new
        corrected = self._keep_apart(contacts)
        if self.bodies is not None and self._detector is not None:
            self.bodies.end(self._detector.pushes, self.model.masses, motion.new)
        clock.end("guard")

        frame = motion.problem(motion.origin, self._aimed) if k == self._substeps - 1 else None
        motion.land(contacts, solved)
        self._creases.step(motion.q, self._length, keep=frame is not None)
        clock.end("update")
        if not fresh:  # what comes after the last sweep: the largest of late, forgotten slowly, because it is a reserve
            self._after_ns = max(time.perf_counter_ns() - outcome.swept_ns, int(0.98 * self._after_ns))
        return Part(outcome, contacts, corrected, frame, phases)

    def _find_contacts(self) -> Contacts:
        """What everything touches on its way."""
        if self._detector is None:
            return NONE
        return self._detector.find(self._motion.q, self._motion.start, self.threads)

    def _begin_bodies(self, k: int) -> None:
        """Rigid bodies go where they are expected to, and animated meshes where they are to be."""
        if self._detector is not None:
            self._detector.drive(self.time + k * self._length, self.time + (k + 1) * self._length)
        if self.bodies is not None and self._detector is not None:
            motion = self._motion
            ahead = motion.q + motion.v * np.float32(self._length / motion.per_velocity)
            before, after = self.bodies.begin(self._length, ahead)
            self._detector.place(before, self._carried(after))

    def _carried(self, after: Poses) -> Poses:
        """What is attached to rigid bodies goes where these end."""
        if self.bodies is not None and self.bodies.attached is not None:
            self._aim(self.bodies.attached.follow(after, self._aimed))
            self._grabs.targets[self.bodies.attached.rows] = self.bodies.attached.places
            self._predict()
        return after

    def _solve(
        self, clock: StageClock, budget: Budget, k: int, contacts: Contacts
    ) -> tuple[Contacts, Outcome, dict[str, int]]:
        """The solver's rounds; in turns with rigid bodies, if some may have to give way."""
        motion, solver, start, at = self._motion, self.solver, self._motion.start, self._motion.s
        pushed = self.bodies is not None and self.bodies.may_give_way(contacts.touched)
        turns, began = 1, time.perf_counter_ns()
        if pushed and self.bodies is not None:
            turns = self.bodies.turns(budget, self._substeps)
        outcomes: list[Outcome] = []
        spent: list[dict[str, int]] = []
        memory = solver.remembered() if pushed else {}
        for turn in range(turns):
            solver.set_contacts(contacts, motion.q, at)
            clock.end("colour")
            share = budget.part(k * turns + turn, self._substeps * turns)
            deadline = Deadline.of(
                share,
                reserve_ns=self._after_ns,
                start_ns=clock.start_ns,
                trace=bool(self.trace),
                turns=max(turns, 2) if pushed else 1,
                least=self._least,
            )
            if self.model.terms:
                solver.see(motion.problem(motion.origin, self._aimed)())
            with phase_times() as phases:
                outcomes.append(solver.solve(start, motion.constant, motion.new, deadline))
                if motion.bdf2 is not None and motion.bdf2.look_back():
                    self._predict()
                    outcomes[-1] = solver.solve(motion.start, motion.constant, motion.new, deadline)
            spent.append(phases)
            clock.end("solve")
            if pushed and self.bodies is not None and self._detector is not None:
                felt = self.bodies.feel(solver.contact_forces(), motion.new)
                if felt and turn + 1 < turns:
                    contacts = self._detector.follow(contacts, self._carried(self.bodies.answer()))
                    start = at = motion.new.copy()
                clock.end("bodies")
        outcome = replace(outcomes[-1], sweeps=sum(outcome.sweeps for outcome in outcomes))
        if pushed and self.bodies is not None:
            self.bodies.turn_ns = (time.perf_counter_ns() - began) // turns
            solver.recall(self.bodies.forget_some(memory, solver.remembered()))
            outcome = self.bodies.noted(outcome, turns)
        phases = {name: sum(part.get(name, 0) for part in spent) for name in dict.fromkeys(chain(*spent))}
        return contacts, outcome, phases

    @property
    def _least(self) -> int:
        """Iterations of a substep, however late."""
        return LEAST_OF_PARTS if self._substeps > 1 else 1

    def _predict(self) -> None:
        self._motion.snap_pins(self.solver.snaps_pins)
        self._motion.predict(self._wind)

    def _all_substeps(self, clock: StageClock, budget: Budget, first: np.ndarray, last: np.ndarray) -> Part | None:
        """All parts of a frame without coming back to Python between them, where nothing has to be found in between."""
        motion = self._motion
        plain = not (
            self._detector or self._wind.any() or self._creases.groups or self.trace or self.guess != "inertia"
        )
        starting = motion.bdf2 is not None and motion.bdf2.starting
        if self._substeps == 1 or not plain or starting or budget.tolerance is not None:
            return None
        if self.prepare():
            clock.restart_budget()
        if budget.ms is None:
            self.solver.wait()
        motion.snap_pins(self.solver.snaps_pins)
        key = (self.solver, self.system, self._substeps, self.solver.plan_key)
        if self._together is None or self._together[0] != key:
            ends, before, after = motion.around_substeps(self._substeps)
            plan = self.solver.plan_substeps(motion.start, motion.constant, motion.new, before, after)
            self._together = key, ends, plan
        _, ends, plan = self._together
        if plan is None:
            return None
        ends[:, :, :3] = first, last
        self._aimed = last
        clock.end("colour")
        shares = [budget.part(k, self._substeps) for k in range(self._substeps)]
        with phase_times() as phases:
            limits: dict[str, Any] = {"reserve_ns": self._after_ns, "start_ns": clock.start_ns, "least": self._least}
            outcome = plan([Deadline.of(share, **limits) for share in shares])
        motion.moving = False
        clock.end("solve")
        return Part(outcome, NONE, 0, motion.problem(motion.previous, last), phases)

    def _report(self, clock: StageClock, budget: Budget, parts: list[Part]) -> Report:
        outcome, contacts = parts[-1].outcome, parts[-1].contacts
        assert parts[-1].frame is not None
        return Report(
            self.frames,
            sum(part.outcome.sweeps for part in parts),
            *(outcome.residual, outcome.residuals, outcome.stopped),
            clock.stages,
            self.solver.colours,
            len(contacts),
            sum(part.corrected for part in parts),
            "; ".join(dict.fromkeys(filter(None, chain(*(part.outcome.note.split("; ") for part in parts))))),
            self._creases.before(self.system),
            parts[-1].frame,
            self._motion.q.copy(),
            contacts,
            substeps=self._substeps,
            budget_ms=budget.ms,
            phases=milliseconds([part.phases for part in parts]),
            bodies=None if self.bodies is None else self.bodies.report(),
        )

    def prepare(self, *, wait: bool = False) -> bool:
        """Colour and lay out now rather than in the first step; whether there was anything to do.

        `wait`: also for what the solver sets up in the background, while steps could already be made.
        """
        new = self.solver.system is not self.system and not self.solver.adapt(self.system)
        if new:
            self.solver.prepare(self.system, threads=self.threads, seed=self.seed)
            if self._budget.ms is not None and self._asked_substeps == "auto" and self.solver.time_itself(self.model):
                self._choose_substeps()
                if self.solver.system is not self.system:
                    self.solver.prepare(self.system, threads=self.threads, seed=self.seed)
            _ = self.model.pin_stiffness  # so that a first grab finds it
            if self.bodies is not None and self.bodies.free and not self.solver.pushes_bodies:
                raise InputError(
                    f"solver {self.solver.name!r} does not tell what presses on rigid bodies that are free; "
                    'take solver="auto", or give the bodies a path'
                )
        if wait:
            self.solver.wait()
        return new

    def _choose_substeps(self) -> None:
        """Go on with other steps if the solver wants another number of them under this budget."""
        if self._wanted_substeps(self._model) != self._substeps:
            self._adopt(self._model)

    def _wanted_substeps(self, model: Model) -> int:
        asked = self._asked_substeps
        if self.integrator == "quasi-static" and not isinstance(asked, int):
            return 1  # there is no motion to be followed more closely
        return asked if isinstance(asked, int) else self._solver.substeps_for(model, self._h, self._budget)

    def _adopt(self, model: Model) -> None:
        """A new model or time step: a new system, for which the solver prepares in the next step."""
        before: System | None = getattr(self, "system", None)
        check_suits(model, self.integrator)
        self._substeps = self._wanted_substeps(model)
        motion = self._motion
        reach, static = 1.0 if motion.bdf2 is None else motion.bdf2.reach, self.integrator == "quasi-static"
        h = HOLD if static else reach * self._length
        system = System(self._creases.alive(fitted(model, self._length)), h, like=before, static=static)
        motion.target[:] = 0.0
        self.system, self._model = system, model
        if before is not None and system.shares_structure(before):  # pins alone: within a frame
            motion.take_pins(model, system)
        else:
            motion.lay_out(model, system, self._length)
            self._together = None
            self._accelerate()

        if model.collisions is None:
            self._detector = self.bodies = None
        elif (
            self._detector is None
            or self._detector.settings is not model.collisions
            or before is None
            or before.model.masses is not model.masses
            or before.model.attachments is not model.attachments
        ):
            welds = [group.vertices for group in model.groups if group.kind.name == "weld"]
            sewn = np.concatenate(welds) if welds else None
            self._detector = Detector(model.mesh, model.collisions, model.masses, untouched(model), sewn)
            if self.bodies is None or not self.bodies.are(model.collisions):
                some = bool(model.collisions.bodies)
                self.bodies = RigidPart(model.collisions, self._gravity, self.threads) if some else None
        if self.bodies is not None:
            self.bodies.attach(model, self._length)

    def _keep_apart(self, contacts: Contacts) -> int:
        """Nothing has passed through anything when the step ends, however short the solver's time was."""
        if self._detector is None:
            return 0
        return self._detector.keep_apart(self._motion.q, self._motion.new, contacts, self._firmly_held, self.threads)

    def _aim(self, targets: np.ndarray) -> None:
        """Where pins hold their vertices in this part of a frame."""
        self._aimed = targets
        self._motion.target[self.model.pinned, :3] = targets
