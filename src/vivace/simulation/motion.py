"""Positions and velocities of a simulation: the prediction of a step, its first guess, and the update at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..backends.cpu.executor import SMALL, Plan
from ..checks import check_name
from ..collisions.contacts import Contacts
from ..energy.system import Frame, System
from ..errors import InputError
from ..model import Model
from ..solvers.kernels.vectors import copy_rows
from .integrators import Bdf2
from .kernels.motion import add_load, add_viscous, aim, hold_back, predict, update
from .wind import Wind

if TYPE_CHECKING:
    from ..backends.cpu.arguments import Phase

FORMS = ("velocity", "verlet")
GUESSES = ("inertia", "adaptive", "position", "velocity", "acceleration", "optimised")
INTEGRATORS = ("euler", "bdf2", "quasi-static")
PRESSED = 0.1  # share of gravity that the adaptive guess leaves to what touches; more makes edges tremble
SMALL_WINDY = 4_000  # vertices below which no helper is woken for what the wind does to them
HISTORY = ("before", "shares", "moving")  # what guesses that look back remember


class Motion:
    """The vectors of a step, (n, 4) float32, and the plans that work on them.

    Attributes:
        q: positions.
        v: velocities; with form="verlet" the last displacement, h v.
        s: prediction.
        start: first guess.
        constant: `System.constant`, what the prediction and pins put on the right-hand side.
        new: where a solver puts its result.
        target: where pins hold their vertices.
        before: velocities a step ago, if `moving`; as `v`.
        moving: whether there was such a step.
        length: of a substep (s), once laid out.
    """

    def __init__(self, model: Model, form: str, integrator: str, threads: int):
        n = model.n
        self.form, self.threads, self._model = form, threads, model
        self._system: System | None = None
        self.q, self.v = as_rows(model.mesh.vertices), np.zeros((n, 4), np.float32)
        self.s, self.start, self.new, self.constant, self.target = (np.zeros((n, 4), np.float32) for _ in range(5))
        self.acceleration = np.zeros((n, 4), np.float32)
        self._felt = self.acceleration  # the last prediction's: with the wind's, if there was any
        self.previous = np.zeros((n, 4), np.float32)  # positions before the last of several substeps
        self.bdf2 = Bdf2(self.q, self.v, self.new, self.acceleration) if integrator == "bdf2" else None
        self.before = np.zeros((n, 4), np.float32)
        self.moving = False
        self._pressed = np.zeros(n, np.float32)
        self._shares = np.ones(n, np.float32)  # of external accelerations that steps have let through of late
        self._windy: tuple[Wind, Plan] | None = None  # made when there is wind

    @property
    def per_velocity(self) -> np.float32:
        """What `v` holds for each m/s: Verlet's form keeps q_n - q_(n-1) = h v."""
        assert self._system is not None
        return np.float32(self._system.h if self.form == "verlet" else 1.0)

    @property
    def origin(self) -> np.ndarray:
        """Where the step's problem begins: q_n, or what BDF2 takes for it."""
        return self.q if self.bdf2 is None else self.bdf2.from_q

    @property
    def snapped(self) -> np.ndarray:
        """Which vertices the first guess has at their targets (n,)."""
        found: np.ndarray = (self._pin_weight > 0) & (self._travel[2] > 0)
        return found

    # --- what is carried from step to step ------------------------------------------------------------------------

    def restart(self) -> None:
        """What was before the present positions and velocities does not lead to them."""
        if self.bdf2 is not None:
            self.bdf2.restart()

    def forget_guess(self) -> None:
        """Velocities have been set: guesses that look back begin anew."""
        self.moving, self._shares[:] = False, 1.0

    def memory(self) -> dict[str, np.ndarray]:
        """What a step needs of earlier ones beside positions and velocities: copies, by name."""
        own = {"before": self.before.copy(), "shares": self._shares.copy(), "moving": np.array(self.moving)}
        return own | ({} if self.bdf2 is None else self.bdf2.memory())

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `memory` gave."""
        self.before[:], self._shares[:] = memory["before"], memory["shares"]
        self.moving = bool(memory["moving"])
        if self.bdf2 is not None:
            self.bdf2.recall(memory)

    # --- plans ----------------------------------------------------------------------------------------------------

    def lay_out(self, model: Model, system: System, length: float) -> None:
        """Plans for a system, in substeps of `length` seconds (`system.h` is what the integrator makes of it)."""
        if self._system is not None and self.form == "verlet":
            for displacement in (self.v, self.before):
                displacement[:, :3] *= np.float32(system.h / self._system.h)
        self._model, self._system, self.length, n = model, system, length, model.n
        with np.errstate(over="ignore"):  # the solver's layout will say so
            inertia = system.inertia.astype(np.float32)
        self._pin_weight = np.zeros(n, np.float32)
        self._load_pins()
        origin, bdf2 = self.origin, self.bdf2
        self.opening: list[Phase] = []
        if bdf2 is not None:
            bdf2.prepare(system, length, self._pin_weight, self.target, self.threads)
            self.opening.append(bdf2.opening)
        velocity = self.v if bdf2 is None else bdf2.from_v
        moving = {"q": origin, "v": velocity, "acceleration": self.acceleration, "inertia": inertia}
        pins = {"pin": self._pin_weight, "target": self.target}
        made = {"s": self.s, "start": self.start, "constant": self.constant}
        unit = float(self.per_velocity)
        reach = 0.0 if system.static else system.air_factor * system.h / unit
        self._travel = np.array([reach, system.h * unit, 1.0], np.float32)
        self.flight = predict.over(0, n, travel=self._travel, **moving, **pins, **made)
        self.pull: list[Phase] = []
        if system.static:
            masses = model.masses.astype(np.float32)
            self.pull.append(add_load.over(0, n, acceleration=self.acceleration, mass=masses, constant=self.constant))
        self.viscous: list[Phase] = []
        if system.viscous:
            off = system.stiffness_off
            with np.errstate(over="ignore"):
                factor = np.array([system.viscous]).astype(np.float32)
                matrix = {"indptr": off.indptr, "indices": off.indices, "off": off.data.astype(np.float32)}
                matrix |= {"tie": system.stiffness_tie.astype(np.float32), "factor": factor}
            self.viscous.append(add_viscous.over(0, n, q=origin, constant=self.constant, **matrix))
        threads = self.threads if n > SMALL else 1
        self._predicting = Plan([*self.opening, self.flight, *self.pull, *self.viscous], threads)
        self._windy = None
        fall = np.array([1 / (unit * length), system.air_factor * system.h**2], np.float32)
        held: dict[str, np.ndarray] = {"v": self.v, "before": self.before, "acceleration": self.acceleration}
        held |= {"start": self.start, "pin": self._pin_weight, "shares": self._shares, "pressed": self._pressed}
        self._holding_back = Plan([hold_back.over(0, n, fall_off=fall, **held)], threads)
        rate = np.array([0.0 if system.static else unit / system.h], np.float32)
        landing = update.over(0, n, new=self.new, q=self.q, v=self.v, rate=rate)
        self.landing = [landing] if bdf2 is None else bdf2.closing
        self._updating = Plan(self.landing, threads)

    def take_pins(self, model: Model, system: System) -> None:
        """Go on with a system that differs from the last in its pins only."""
        self._model, self._system = model, system
        self._load_pins()

    def _load_pins(self) -> None:
        assert self._system is not None
        with np.errstate(over="ignore"):
            self._pin_weight[:] = self._system.pin_weight

    def around_substeps(self, count: int) -> tuple[np.ndarray, list[Phase], list[Phase]]:
        """Phases before and after each of `count` substeps that are walked as one plan.

        And the targets of pins at the beginning and at the end of the frame, (2, p, 4), which the caller fills in.
        """
        pinned = self._model.pinned
        ends = np.zeros((2, len(pinned), 4), np.float32)
        aims = {"vertices": pinned, "first": ends[0], "last": ends[1], "target": self.target}
        parts = np.array([count], np.float32)
        before = [aim.over(0, len(pinned), parts=parts, serial=True, **aims)] if len(pinned) else []
        after = [copy_rows.over(0, self._model.n, a=self.origin, to=self.previous), *self.landing]
        return ends, [*before, *self.opening, self.flight, *self.pull, *self.viscous], after

    # --- a step ---------------------------------------------------------------------------------------------------

    def snap_pins(self, snaps: bool) -> None:
        """Whether the first guess has pinned vertices at their targets, and not at the prediction."""
        self._travel[2], self._felt = snaps, self.acceleration

    def predict(self, wind: np.ndarray) -> None:
        """s, the first guess and the constant part."""
        if not wind.any() or not len(self._model.mesh.triangles):
            self._predicting.run()
            return
        if self._windy is None:
            assert self._system is not None
            length = 0.0 if self._system.static else self.length  # nothing moves that could run ahead of the wind
            air = Wind(self._model, length, float(self.per_velocity))
            flight, *pull = (
                replace(phase, arrays={**phase.arrays, "acceleration": air.total})
                for phase in (self.flight, *self.pull)
            )
            phases = [*self.opening, *air.phases(self.q, self.v, self.acceleration), flight, *pull, *self.viscous]
            if self.bdf2 is not None:  # the wind's work counts
                phases.append(copy_rows.over(0, self._model.n, a=air.total, to=self.bdf2.pulled))
            self._windy = air, Plan(phases, self.threads if self._model.n > SMALL_WINDY else 1)
        air, plan = self._windy
        air.set(wind)
        plan.run()
        self._felt = air.total

    def hold_back(self, contacts: Contacts) -> None:
        """The adaptive guess; but what touches is pressed on a little, or there would be no friction."""
        touching = contacts.colliders.vertices, contacts.over_four.vertices
        for vertices in touching:
            self._pressed[vertices] = PRESSED
        self._holding_back.run()
        for vertices in touching:
            self._pressed[vertices] = 0.0

    def land(self, contacts: Contacts, solved: np.ndarray) -> None:
        """New positions and velocities. `solved`: positions before the guard."""
        self.before[:], self.moving = self.v, True
        if self.bdf2 is None:
            self._updating.run()
        else:
            stopped = np.flatnonzero((solved != self.new).any(axis=1)) if solved is not self.new else np.zeros(0)
            self.bdf2.land(contacts, stopped.astype(np.int32))

    def problem(self, previous: np.ndarray, targets: np.ndarray) -> Callable[[], Frame]:
        """This step's data, in float64 when somebody asks."""
        s, start, previous, targets = self.s.copy(), self.start.copy(), previous.copy(), targets.copy()
        assert self._system is not None
        h, pinned, load = self._system.h, self._system.model.pinned, None
        if self._system.static:  # a float32 row's own arithmetic, as `add_load` has it
            load = as_points(self._model.masses.astype(np.float32)[:, None] * self._felt)
        return lambda: Frame(as_points(s), as_points(start), as_points(previous), targets, h, pinned, load)


def check_ways(form: str, guess: str, integrator: str) -> None:
    """Names that are known, and go with each other."""
    check_name("form", form, FORMS)
    check_name("guess", guess, GUESSES)
    check_name("integrator", integrator, INTEGRATORS)
    if integrator != "euler" and form == "verlet":
        raise InputError(f'integrator="{integrator}" does not go with form="verlet"; take form="velocity"')
    if integrator == "quasi-static" and guess == "adaptive":
        raise InputError('integrator="quasi-static" predicts nothing to hold back; take guess="inertia"')


def check_suits(model: Model, integrator: str) -> None:
    """Refuse a model that the integrator does not know."""
    if integrator == "bdf2" and model.terms:
        name = type(model.terms[0]).__name__
        raise InputError(f'integrator="bdf2" cannot balance the energy of the term {name}; take integrator="euler"')
    if integrator == "bdf2" and any(group.kind.flow is not None for group in model.groups):
        raise InputError('integrator="bdf2" cannot balance the energy of what creases; take integrator="euler"')
    if integrator == "bdf2" and model.collisions is not None and model.collisions.bodies:
        raise InputError('integrator="bdf2" does not know rigid bodies; take integrator="euler"')
    if integrator == "bdf2" and model.collisions is not None and model.collisions.animated:
        raise InputError('integrator="bdf2" does not know animated meshes; take integrator="euler"')
    if integrator == "quasi-static" and model.collisions is not None:
        raise InputError(
            'integrator="quasi-static" does not know contacts, whose stiffness is that of inertia; leave out '
            'model.collide, or let it come to rest with integrator="euler" and air'
        )


def as_rows(points: np.ndarray) -> np.ndarray:
    """(n, 3) as float32 rows of four."""
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def as_points(rows: np.ndarray) -> np.ndarray:
    """Rows of four as (n, 3) in float64."""
    return rows[:, :3].astype(np.float64)


def between(first: np.ndarray, last: np.ndarray, part: int, parts: int) -> np.ndarray:
    """Targets after so many of the equal parts of a frame, in the arithmetic of `kernels.motion.aim`."""
    if part == parts:
        return last
    old = first.astype(np.float32)
    return old + np.float32(part) / np.float32(parts) * (last.astype(np.float32) - old)
