"""Chebyshev's semi-iterative method over the corrections of any solver [fratarcangeli2018, section 2; wang2015].

    q^(k+1) = ω_(k+1) (γ (q̂^(k+1) - q^(k)) + q^(k) - q^(k-1)) + q^(k-1)        Eq. 26
    ω = 1 for the first S iterations, then 2/(2 - ρ²), then 4/(4 - ρ² ω)        Alg. 1

Alg. 1 as printed has ω_1 = 2/(2 - ρ²) for S = 0, where Eq. 24 has ω_1 = 1; there is no q^(-1) to look back to, so the
first iteration is always plain here, and then the two agree.

ρ is the course's hand-tuned number: too small gives little, too large oscillates and diverges. Here it may be "auto":
`tuning.tuned_rho` finds it in a pre-simulation, and at run time the solver watches itself: see
`kernels.acceleration.chebyshev_weight`. With a number and watch=False it is the course's method to the letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...backends.cpu.arguments import Phase
from ...checks import is_number, is_whole
from ...collisions.contacts import Contacts
from ...energy.system import System
from ...errors import InputError
from ..base import SOLVERS, Deadline, Outcome, make_solver
from ..position_based.pbd_jacobi import PbdJacobi
from .correcting import Accelerated, blocks_of, first_share
from .kernels.acceleration import (
    BLOCK,
    GAMMA,
    RESTARTS,
    RHO,
    STATE_SIZE,
    chebyshev_step,
    chebyshev_weight,
    product_blocks,
)
from .layout import Layout

AUTO = "auto"


@SOLVERS.register("chebyshev")
@dataclass(eq=False)
class Chebyshev(Accelerated):
    """Chebyshev acceleration of another solver: chebyshev(jacobi), chebyshev(direct), chebyshev(pbd-jacobi), ...

    inner    the solver that makes the corrections; sweeping solvers make a forward and a backward sweep of them
    rho      estimate of the spectral radius, [0, 1), or "auto": tuned in a pre-simulation when the solver is prepared
    delay    iterations before acceleration begins (S)
    gamma    under-relaxation, (0, 1]
    watch    begin anew with a smaller rho when the residual exceeds what it was at the start, shorten corrections that
             would overshoot, and take no larger rho than a step's iterations allow (always, with rho="auto")
    horizon  iterations a step that "auto" tunes rho for
    """

    inner: str = "jacobi"
    rho: float | str = AUTO
    delay: int = 10
    gamma: float = 1.0
    watch: bool = True
    horizon: int = 60

    wrapper = "chebyshev"

    def __post_init__(self) -> None:
        if self.rho != AUTO and not (is_number(self.rho) and 0 <= self.rho < 1):  # type: ignore[operator]
            raise InputError(f"rho must be 'auto' or lie in [0, 1), not {self.rho!r}")
        if not is_whole(self.delay) or not 0 <= self.delay <= 10_000:
            raise InputError(f"delay must be a whole number of iterations from 0 to 10000, not {self.delay!r}")
        if not is_number(self.gamma) or not 0 < self.gamma <= 1:
            raise InputError(f"the under-relaxation gamma must lie in (0, 1], not {self.gamma!r}")
        if not is_whole(self.horizon) or not 1 <= self.horizon <= 10_000:
            raise InputError(f"horizon must be a whole number of iterations from 1 to 10000, not {self.horizon!r}")
        self._adopt(self.inner)

    def _adopt(self, inner: object) -> None:
        solver = make_solver(inner)  # type: ignore[arg-type]
        self.positional: PbdJacobi | None = None
        if isinstance(solver, PbdJacobi):
            solver.accelerate(self._positional_steps)
            self.starts_anywhere = False
            self.positional, self.name = solver, f"{self.wrapper}({solver.name})"  # type: ignore[misc]
        else:
            super()._adopt(inner)

    def _positional_steps(self, q: np.ndarray, e: np.ndarray) -> list[Phase]:
        """What is made of the summed corrections of position based dynamics [fratarcangeli2018, section 2.2.3]."""
        old, best = np.zeros_like(q), np.zeros_like(q)
        self._state, partial = np.zeros(STATE_SIZE), blocks_of(len(q))
        self._settings = np.array([self._rho, self.delay, self.gamma, float(self.watch), self.gamma])
        kept = {"state": self._state, "settings": self._settings}
        return [
            product_blocks.over(0, len(q), x=e, y=e, partial=partial, state=self._state, grain=BLOCK),
            chebyshev_weight.over(0, 1, partial=partial, serial=True, **kept),
            chebyshev_step.over(0, len(q), q=q, e=e, old=old, best=best, **kept),
        ]

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        n = layout.n
        old, best = (np.zeros((n, 4), np.float32) for _ in range(2))
        self._state, partial = np.zeros(STATE_SIZE), blocks_of(n)
        watch = self.watch or self.rho == AUTO
        first = later = self.gamma
        if watch:
            overshoot = self.corrector.overshoot(layout)
            first = min(first, first_share(overshoot))
            later = min(later, 1.9 / overshoot)
        self._settings = np.array([self._rho, self.delay, later, float(watch), first])
        kept = {"state": self._state, "settings": self._settings}
        return [], [
            product_blocks.over(0, n, x=e, y=r, partial=partial, state=self._state, grain=BLOCK),
            chebyshev_weight.over(0, 1, partial=partial, serial=True, **kept),
            chebyshev_step.over(0, n, q=layout.q, e=e, old=old, best=best, **kept),
        ]

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        self._rho = 0.0 if self.rho == AUTO else float(self.rho)
        self._expected = self.horizon
        if self.positional is not None:
            self._rho = self.largest_rho(self.horizon) if self.rho == AUTO else self._rho
            self.positional.prepare(system, threads=threads, seed=seed)
            self.system = system
            return
        super().prepare(system, threads=threads, seed=seed)
        if self.rho == AUTO:
            from .tuning import tuned_rho

            self.wait()  # ρ is that of the corrections that the steps will be made of
            self.used_rho = tuned_rho(self, system)
        self._expected = self.horizon

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        if self.system is not None:
            self._settings[0] = min(self._rho, self.largest_rho(self._expected)) if self.watching else self._rho
        if self.positional is not None:
            outcome = self.positional.solve(start, constant, out, deadline)
            outcome = replace(outcome, note="; ".join(part for part in (outcome.note, self._own_note()) if part))
        else:
            outcome = super().solve(start, constant, out, deadline)
        self._expected = outcome.sweeps
        return outcome

    def remembered(self) -> dict[str, np.ndarray]:
        if self.system is None:
            return {}
        learnt = {"chebyshev.state": self._state.copy(), "chebyshev.expected": np.array(self._expected)}
        return learnt | ({} if self.positional is not None else super().remembered())

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        if "chebyshev.state" in memory:
            self._state[:], self._expected = memory["chebyshev.state"], int(memory["chebyshev.expected"])
        if self.positional is None:
            super().recall(memory)

    def largest_rho(self, iterations: int) -> float:
        """The ρ with which that many iterations leave at most a third of any mode, whatever its sign.

        After m accelerated iterations a mode is left by C_m(x/ρ)/C_m(1/ρ), which for |x| <= ρ lies within ±1/C_m(1/ρ):
        with ρ close to 1 and few iterations as far as ±1. What is left comes back as velocity, and below -1/3 it grows
        from step to step (`first_share`), though every step on its own lowers the energy.
        """
        m = max(2, iterations - max(1, self.delay) + 1)
        return float(1.0 / np.cosh(np.arccosh(3.0) / m))

    @property
    def used_rho(self) -> float:
        """ρ in use: the one given, or the one found."""
        return self._rho

    @used_rho.setter
    def used_rho(self, rho: float) -> None:
        self._rho = self._settings[0] = rho
        self._state[GAMMA] = 0.0  # what an earlier step learnt about another ρ does not count

    @property
    def watching(self) -> bool:
        return bool(self._settings[3])

    @watching.setter
    def watching(self, value: bool) -> None:
        self._settings[3] = float(value)

    def adapt(self, system: System) -> bool:
        if self.positional is None:
            return super().adapt(system)
        self.system = system
        return self.positional.adapt(system)

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        if self.positional is not None:
            self.positional.set_contacts(contacts, previous, start)
        else:
            super().set_contacts(contacts, previous, start)

    def wait(self) -> None:
        if self.positional is None:
            super().wait()

    def _own_note(self) -> str:
        restarts = int(self._state[RESTARTS])
        return f"ρ reduced to {self._state[RHO]:.6g} ({restarts} restarts)" if restarts else ""

    def note(self) -> str:
        return "; ".join(part for part in (self._own_note(), self.corrector.correction_note()) if part)
