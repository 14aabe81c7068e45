"""What is made of one iterate after the other: Chebyshev's weights, Nesterov's, or nothing.

chebyshev   q ← ω (q̄ - q_before) + q_before,   ω = 1, 2/(2 - ρ²), then 4/(4 - ρ² ω)  [fratarcangeli2018, Alg. 1]
nesterov    q ← q̄ + (t - 1)/t' (q̄ - q̄_before),   t' = (1 + √(1 + 4 t²))/2
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from ...checks import is_number, shown
from ...errors import InputError

GROWTH = 0.8  # of 1 - ρ, for every look at an energy that has fallen
# A ρ that is not given is at most the one with which the polynomial of all iterations falls to e^-DEPTH between -ρ and
# ρ: a larger one would leave more of every mode than the fewer iterations can make up for.
DEPTH, LEAST = 7.0, 0.5


class Momentum:
    """None."""

    def __init__(self, rho: str | float = "auto"):
        pass

    def begin(self, iterations: int) -> None:
        """A step of so many iterations begins, if that is known."""

    def restart(self) -> None:
        """What was before leads nowhere."""

    def next(self, q: np.ndarray, new: np.ndarray) -> None:
        """Write the next iterate to q; `new` is q̄, and may be used up."""
        np.copyto(q, new)

    def grow(self) -> None:
        """The energy has fallen."""

    def reduce(self) -> bool:
        """The energy has risen: begin anew with less of it. False if there is no less."""
        self.restart()
        return False

    def forget(self) -> None:
        """As at the start."""
        self.restart()

    def remembered(self) -> tuple[float, ...]:
        """What the next step needs of this one."""
        return ()

    def recall(self, memory: Sequence[float]) -> None:
        """Go on with it."""


class Chebyshev(Momentum):
    """With a constant ρ, one for each of several phases, or one that it finds."""

    def __init__(self, rho: str | float = "auto"):
        self._given, self._ends = _phases(rho)
        self._found, self._most, self._iterations, self._phase_before = LEAST, LEAST, 0, 0
        self.restart()

    def begin(self, iterations: int) -> None:
        """Phases are parts of the iterations."""
        self._iterations, self._count = iterations, 0
        self._most = largest_rho(iterations)
        self._found = min(self._found or self._most, self._most)
        self.restart()

    def restart(self) -> None:
        """ω = 1."""
        self._omega, self._since = 1.0, 0
        self._before: np.ndarray | None = None

    @property
    def rho(self) -> float:
        """Of this iteration."""
        if not self._given:
            return self._found
        return self._given[self._phase]

    @property
    def _phase(self) -> int:
        done = self._count * self._ends[-1] / max(self._iterations, 1)
        return min(bisect_right(self._ends, done), len(self._given) - 1)

    def next(self, q: np.ndarray, new: np.ndarray) -> None:
        """One of Chebyshev's steps; a phase begins anew."""
        if self._given and self._count and self._phase != self._phase_before:
            self.restart()
        self._phase_before = self._phase if self._given else 0
        square = self.rho**2
        if self._since == 1:
            self._omega = 2.0 / (2.0 - square)
        elif self._since > 1:
            self._omega = 4.0 / (4.0 - square * self._omega)
        if self._before is None:
            self._before = q.copy()
            np.copyto(q, new)
        else:
            new -= self._before
            new *= np.float32(self._omega)
            new += self._before
            np.copyto(self._before, q)
            np.copyto(q, new)
        self._since, self._count = self._since + 1, self._count + 1

    def grow(self) -> None:
        """1 - ρ falls."""
        self._found = min(1.0 - GROWTH * (1.0 - self._found), self._most)

    def reduce(self) -> bool:
        """1 - ρ doubles; a ρ that was given stays."""
        self.restart()
        less = not self._given and self._found > 0.5
        if less:
            self._found = 1.0 - 2.0 * (1.0 - self._found)
        return less

    def forget(self) -> None:
        """Where it began: at the most."""
        self._found = 0.0
        self.restart()

    def remembered(self) -> tuple[float, ...]:
        """ρ that was found."""
        return (self._found,)

    def recall(self, memory: Sequence[float]) -> None:
        """Go on with it."""
        if memory:
            self._found = float(memory[0])


class Nesterov(Momentum):
    """With the strong convexity set to zero, as in the paper; begun anew where the energy rises."""

    def __init__(self, rho: str | float = "auto"):
        self.restart()

    def restart(self) -> None:
        """t = 1."""
        self._t = 1.0
        self._before: np.ndarray | None = None

    def begin(self, iterations: int) -> None:
        """Every step anew."""
        self.restart()

    def next(self, q: np.ndarray, new: np.ndarray) -> None:
        """One of Nesterov's steps."""
        t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._t**2))
        weight = np.float32((self._t - 1.0) / t)
        before = new if self._before is None else self._before
        np.copyto(q, new + weight * (new - before))
        self._before, self._t = new.copy(), t


MOMENTA: dict[str, type[Momentum]] = {"chebyshev": Chebyshev, "nesterov": Nesterov, "none": Momentum}


def largest_rho(iterations: int) -> float:
    """The ρ with which the polynomial of so many iterations falls to e^-DEPTH."""
    return float(max(LEAST, np.sqrt(max(1.0 - (DEPTH / iterations) ** 2, 0.0))))


def _phases(rho: str | float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """ρ of every phase, and where each ends, in units that the last end says; none for "auto"."""
    if rho == "auto":
        return (), ()
    parts = [part.partition("*") for part in rho.split(";")] if isinstance(rho, str) else [(rho, "", "")]
    try:
        found = tuple(float(value) for value, _, _ in parts)
        lengths = [float(length) if star else 1.0 for _, star, length in parts]
    except (TypeError, ValueError):
        found, lengths = (), []
    right = all(is_number(value) and 0 <= value < 1 for value in found)
    if not found or not right or not all(np.isfinite(length) and length > 0 for length in lengths):
        raise InputError(
            'rho must lie in 0 to 1, several as "0.9;0.99", with lengths as "0.9*12;0.99*84", '
            f'or be "auto", not {shown(rho)}'
        )
    if len({bool(star) for _, star, _ in parts}) > 1:
        raise InputError(f"either all phases of rho have a length or none has, not {shown(rho)}")
    return found, tuple(np.cumsum(lengths).tolist())
