"""Descent on the true energy of a step, with the directions and accelerations of [fratarcangeli2018, section 3].

    Δq by its direction;     q̄ = q + α Δq;     q ← acceleration(q̄, ...)          (Algorithm 3)

The paper's own direction is `jacobi`, Δq = -diag(H)⁻¹ ∇ε, with the diagonal taken anew every M = 32 iterations and
Chebyshev's weights. Its step length α is the longest that lowers ε (Eq. 35 with c = 0), looked at every eight
iterations and multiplied by γ = 0.7 until ε falls. Where we do otherwise, and why:

    α      It begins at 1.6 / λ with λ the largest eigenvalue of P⁻¹H at rest, by the power method, and returns to that.
           The paper's, α/γ of the step before (lengths="paper"), is too long in every step, and eight iterations are
           lost each time.
    ε      Where it has risen we go back to the last place that was known to be lower, which the paper leaves open, take
           a new preconditioner and look sooner; the last iterations are judged, too. So the energy never rises,
           whatever the number of iterations. That ε falls is not enough: one mode may grow while the others still
           outweigh it. So the residual must fall, too, in the norm in which modes count by their energy; where it does
           not, there is less momentum from then on.
    ρ      The paper tunes it, in one phase or in several; `tuning` does, too. Unless it is given it is the one with
           which the polynomial of the step's iterations falls to e⁻⁷ (`momentum`), and 1 - ρ doubles where ε has risen.
           On a hanging cube with 30 iterations no step is then taken back, and nothing had to be tuned.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from ...checks import check_name, is_number, is_whole
from ...collisions.contacts import ContactForces, Contacts
from ...energy.system import Frame, System
from ...errors import InputError
from ..base import SOLVERS, Deadline, Outcome, Solver
from ..projective.layout import CONTACT, Layout
from ..projective.ordering import morton_rank
from ..projective.potentials import Beginning
from .direction import Direction
from .directions import DIRECTIONS
from .momentum import MOMENTA
from .problem import Problem

LENGTHS = ("auto", "paper")
SHORTEST = 1e-4  # step length below which a step ends [fratarcangeli2018, section 3.2.2]
TO_LARGEST = 1.6  # α times the largest eigenvalue of P⁻¹H at rest, below 2
TRIES = 8  # in a row that raised the energy: what they could still gain is rounding
STEADY = 8  # steps without a rise after which longer ones are tried again
SHORT = 0.25  # of the first step length: no diagonal of a Hessian that is fresh asks for less, so steps begin there
USUAL = 16  # iterations that a step is thought to have, until one was made


@SOLVERS.register("descent")
@dataclass(eq=False)
class Descent(Solver):
    """Descent methods on the true energy, in float32: for hyperelastic bodies, and for everything else.

    An iteration is one evaluation of the gradient.

    Attributes:
        direction: "jacobi" (the paper's), "gradient", "nonlinear-cg", "l-bfgs", "newton" or "gauss-seidel".
        momentum: "chebyshev", "nesterov" or "none"; of the directions "jacobi", "gradient" and "gauss-seidel" alone.
        rho: of Chebyshev's weights, 0 to below 1, or several for phases, of equal length as "0.9;0.99" or of lengths in
            proportion as "0.9*12;0.99*84" (`tuning` finds them); "auto".
        every: M, iterations for each preconditioner, 1 to 1000.
        history: m, pairs of steps and gradients that "l-bfgs" keeps, 1 to 100.
        check: iterations for each look at the energy, 1 to 1000.
        shrink: γ of the line search, 0 to 1.
        lengths: "auto", or "paper": each step begins with α/γ, α being the step length that the last one ended with.

    Limitations: no constraints known by their value, no energy terms of a model's own but hyperelastic ones; slow for
    stiff or fine meshes, where `newton-multigrid` is faster; contacts between surfaces do not remember their
    forces, so that heaps creep.
    """

    direction: str = "jacobi"
    momentum: str = "chebyshev"
    rho: str | float = "auto"
    every: int = 32
    check: int = 8
    shrink: float = 0.7
    history: int = 8
    lengths: str = "auto"

    name = "descent"
    _first = 1.0
    takes_hyperelastic = True
    takes_free_bodies = True
    snaps_pins = False
    layout: Layout | None = field(default=None, init=False, repr=False)
    _instead: np.ndarray | None = field(
        default=None, init=False, repr=False
    )  # where the next step begins, if not where it is told to

    def __post_init__(self) -> None:
        check_name("direction", self.direction, tuple(DIRECTIONS))
        check_name("momentum", self.momentum, tuple(MOMENTA))
        self._momentum = MOMENTA[self.momentum](self.rho)
        self._length, self._steady, self._usual = self._first, 0, USUAL
        check_name("lengths", self.lengths, LENGTHS)
        for name, most in (("every", 1000), ("check", 1000), ("history", 100)):
            value = getattr(self, name)
            if not is_whole(value) or not 1 <= value <= most:
                raise InputError(f"{name} must be a whole number from 1 to {most}, not {value!r}")
        if not is_number(self.shrink) or not 0 < self.shrink < 1:
            raise InputError(f"shrink must lie between 0 and 1, not {self.shrink!r}")

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Lay out, along a curve that keeps neighbours together."""
        self.system = None
        order = np.argsort(morton_rank(system.model.mesh.vertices), kind="stable").astype(np.int32)
        layout = Layout(system, order, threads, contact=CONTACT, potentials=True)
        self._lay_out(layout)
        self.system = system
        rest = np.zeros((system.n, 4), np.float32)
        rest[:, :3] = system.model.mesh.vertices
        layout.load(rest, rest * 0.0)
        self._first = TO_LARGEST / self.problem.largest(self._direction.scale)
        self.forget()

    def _lay_out(self, layout: Layout) -> None:
        self.layout, self.problem = layout, Problem(layout)
        self._begin = Beginning(layout.potentials, layout.q, layout.order, layout.threads)
        self._direction: Direction = DIRECTIONS[self.direction](self.problem, self.history)
        self.use_rho(self.rho)

    def use_rho(self, rho: str | float) -> None:
        """Go on with another ρ, once prepared."""
        momentum = MOMENTA[self.momentum if self._direction.momentum else "none"](rho)
        self.rho, self._momentum = rho, momentum

    def forget(self) -> None:
        """Step lengths and weights as at the start, and contacts without forces."""
        self._length, self._steady, self._usual = self._first, 0, USUAL
        self._momentum.forget()
        if self.layout is not None and self.layout.contacts is not None:
            self.layout.contacts.forget()

    def remembered(self) -> dict[str, np.ndarray]:
        """The step length, what the weights have learned, and the forces that contacts remember."""
        contacts = None if self.layout is None else self.layout.contacts
        own = {"descent": np.array([self._length, self._steady, self._usual, *self._momentum.remembered()])}
        return {**own, **({} if contacts is None else contacts.remembered())}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `remembered` gave."""
        if "descent" in memory:
            self._length, steady, usual, *rest = map(float, memory["descent"])
            self._steady, self._usual = int(steady), int(usual)
            self._momentum.recall(rest)
        if self.layout is not None and self.layout.contacts is not None and "contacts.keys" in memory:
            self.layout.contacts.recall(memory)

    def see(self, frame: Frame) -> None:
        """Hold what is tangled; begin the next step where the last one ended, if its prediction is far too high."""
        if self.system is not None:
            self._instead = self._begin(self.system, frame)

    def adapt(self, system: System) -> bool:
        """Take over the new diagonal."""
        if self.layout is None or self.system is None or not system.shares_structure(self.system):
            return False
        self.layout.adapt(system)
        self.problem.adapt(system)
        self.system = system
        return True

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """Put the contacts into the layout."""
        if self.layout is None or self.system is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        changed = self.layout.set_contacts(contacts, previous, start, self.system)
        if self.layout.contacts is not None and self.layout.contacts.full:
            self._lay_out(self.layout.with_room_for(contacts))
            changed = self.layout.set_contacts(contacts, previous, start, self.system)
        if changed:
            self.problem.adapt(self.layout.system)

    @property
    def pushes_bodies(self) -> bool:  # type: ignore[override]
        """Where contacts remember their forces."""
        return self.layout is not None and self.layout.contacts is not None and self.layout.contacts.remembers

    def contact_forces(self) -> ContactForces | None:
        """Those of the layout's contacts."""
        return None if self.layout is None else self.layout.contact_forces()

    def _begin_length(self) -> None:
        """α of a step's first iteration."""
        if self.lengths == "paper":  # [fratarcangeli2018, section 3.2.2]: α = α_t/γ
            self._length /= self.shrink
            return
        self._length = max(self._length, SHORT * self._first)
        self._steady += 1
        if self._steady >= STEADY:
            self._length, self._steady = min(self._length / self.shrink, self._first), 0

    def _slow_down(self, least: float = 0.0) -> None:
        """Less momentum; where there is none left to give up, shorter steps, but none below `least` for that."""
        if not self._momentum.reduce() and self._length > least:
            self._length *= self.shrink

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Descend until a limit is met; what is left behind is no higher than where it began."""
        if self.layout is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        layout, problem, budget = self.layout, self.problem, deadline.budget
        layout.load(start if self._instead is None else self._instead, constant)
        self._instead = None
        met = problem.look()
        limit = -1.0
        if budget.tolerance is not None and np.isfinite(met):
            limit = max(budget.tolerance * met, np.sqrt(layout.resolution()))
        self._begin_length()
        problem.precondition()
        problem.mark()
        level = problem.size()
        self._direction.begin()
        told = budget.iterations if budget.ms is None and budget.tolerance is None else None
        self._momentum.begin(told or self._usual)
        sweeps, since, rejected, rising, stopped, residuals = 0, 0, 0, 0, "", list[tuple[int, float]]()
        patience, still, tries = self.check, False, 0
        while not stopped:
            began = time.perf_counter_ns()
            if deadline.trace:
                residuals.append((sweeps, met))
            last = met
            if sweeps and sweeps % self.every == 0:
                problem.precondition()
            problem.hold()
            self._length = self._direction.step(self._length, self._momentum)
            met = problem.look()
            sweeps, since = sweeps + 1, since + 1
            now = time.perf_counter_ns()
            stopped = "tolerance" if last <= limit else deadline.reached(sweeps, now - began)
            if since >= patience or stopped or self._direction.searches:
                since = 0
                size = problem.size()
                if problem.lower():
                    problem.mark()
                    tries = 0
                    if self._direction.searches or size <= level:
                        self._momentum.grow()
                        if self._length < SHORT * self._first:
                            self._length /= self.shrink
                        patience = min(2 * patience, self.check)
                    elif not problem.settled():  # some mode grows, though the others still outweigh it
                        self._slow_down(SHORT * self._first)
                        rising += 1
                    level = size
                else:
                    rejected, tries, patience = rejected + 1, tries + 1, max(patience // 2, 1)
                    problem.back()
                    still = problem.settled() or tries >= TRIES
                    met = float(np.linalg.norm(problem.r.astype(np.float64)))
                    if tries == 1:
                        problem.precondition()  # the one of before may be why
                    if not still:
                        self._slow_down()
                    self._direction.begin()
                    if (still or self._length < SHORTEST) and not stopped:
                        stopped = "time" if budget.iterations is None else "iterations"
        self._steady, self._usual = 0 if rejected + rising else self._steady, sweeps
        layout.store(out)
        note = "down to rounding" if still else f"energy rose, and was taken back, {rejected} times" if rejected else ""
        return Outcome(sweeps, last, stopped, time.perf_counter_ns(), note, np.reshape(residuals, (-1, 2)))
