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

from dataclasses import dataclass

import numpy as np

from ..backends.cpu.arguments import Phase
from ..checks import is_number, is_whole
from ..errors import InputError
from .projective.kernels.acceleration import (
    BLOCK,
    GAMMA,
    RESTARTS,
    RHO,
    STATE_SIZE,
    chebyshev_step,
    chebyshev_weight,
    product_blocks,
)

AUTO = "auto"


@dataclass(eq=False)
class ChebyshevMethod:
    """Options and weights of Chebyshev's method, whatever makes the corrections.

    Attributes:
        rho: estimate of the spectral radius, [0, 1), or "auto": tuned in a pre-simulation when the solver is prepared.
        delay: iterations before acceleration begins (S).
        gamma: under-relaxation, (0, 1].
        watch: begin anew with a smaller rho when the residual exceeds what it was at the start, shorten corrections
            that would overshoot, and take no larger rho than a step's iterations allow (always, with rho="auto").
        horizon: iterations a step that "auto" tunes rho for.
    """

    inner: str = "jacobi"
    rho: float | str = AUTO
    delay: int = 10
    gamma: float = 1.0
    watch: bool = True
    horizon: int = 60

    def check_options(self) -> None:
        """Refuse options out of range."""
        if self.rho != AUTO and not (is_number(self.rho) and 0 <= self.rho < 1):  # type: ignore[operator]
            raise InputError(f"rho must be 'auto' or lie in [0, 1), not {self.rho!r}")
        if not is_whole(self.delay) or not 0 <= self.delay <= 10_000:
            raise InputError(f"delay must be a whole number of iterations from 0 to 10000, not {self.delay!r}")
        if not is_number(self.gamma) or not 0 < self.gamma <= 1:
            raise InputError(f"the under-relaxation gamma must lie in (0, 1], not {self.gamma!r}")
        if not is_whole(self.horizon) or not 1 <= self.horizon <= 10_000:
            raise InputError(f"horizon must be a whole number of iterations from 1 to 10000, not {self.horizon!r}")

    def begin_method(self) -> None:
        """Before a new system is prepared."""
        self._rho = 0.0 if self.rho == AUTO else float(self.rho)
        self._expected = self.horizon

    def weigh(
        self, q: np.ndarray, e: np.ndarray, measured: np.ndarray, *, first: float, later: float, watch: bool
    ) -> list[Phase]:
        """What is made of a correction e; e · `measured` tells whether iterations get anywhere.

        `first`, `later`: γ of the first iteration and of the others.
        """
        n = len(q)
        old, best = np.zeros_like(q), np.zeros_like(q)
        self._state, partial = np.zeros(STATE_SIZE), np.zeros(-(-n // BLOCK))
        self._settings = np.array([self._rho, self.delay, later, float(watch), first])
        kept = {"state": self._state, "settings": self._settings}
        return [
            product_blocks.over(0, n, x=e, y=measured, partial=partial, state=self._state, grain=BLOCK),
            chebyshev_weight.over(0, 1, partial=partial, serial=True, **kept),
            chebyshev_step.over(0, n, q=q, e=e, old=old, best=best, **kept),
        ]

    def begin_step(self) -> None:
        """Before a solve: no larger ρ than its iterations allow."""
        self._settings[0] = min(self._rho, self.largest_rho(self._expected)) if self.watching else self._rho

    def end_step(self, iterations: int) -> None:
        """After it: the next step is expected to have as many."""
        self._expected = iterations

    def learnt(self) -> dict[str, np.ndarray]:
        """What the next step needs of earlier ones."""
        return {"chebyshev.state": self._state.copy(), "chebyshev.expected": np.array(self._expected)}

    def learn(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `learnt` gave."""
        if "chebyshev.state" in memory:
            self._state[:], self._expected = memory["chebyshev.state"], int(memory["chebyshev.expected"])

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
        """Whether the method watches itself: see the option `watch`."""
        return bool(self._settings[3])

    @watching.setter
    def watching(self, value: bool) -> None:
        self._settings[3] = float(value)

    def method_note(self) -> str:
        """What a user should know about the last step: whether ρ had to be reduced."""
        restarts = int(self._state[RESTARTS])
        return f"ρ reduced to {self._state[RHO]:.6g} ({restarts} restarts)" if restarts else ""
