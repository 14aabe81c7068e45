"""What the parts of `motion.py` share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Options:
    resolution: int = 100
    solver: str = "auto"
    repeat: int = 3
    threads: int | None = None
    newton: bool = False
    armadillo: str | None = None
    progress: bool = False
    variants: tuple[str, ...] = field(default_factory=tuple)

    def tell(self, what: str, done: int, total: int) -> None:
        if self.progress:
            print(f"{what}: {done}/{total}", file=sys.stderr, flush=True)


class Row(NamedTuple):
    name: str
    text: str
    values: dict[str, object]


def spread(values: Sequence[float] | np.ndarray) -> str:
    """The median, with the least and the most where there are several."""
    middle = f"{np.median(values):.3g}"
    return middle if len(values) < 2 else f"{middle} ({np.min(values):.3g} to {np.max(values):.3g})"


def path_length(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


class Turning(NamedTuple):
    """When a height is first lowest, how low, and the time to the next such moment; None where there is none."""

    seconds: float | None
    metres: float | None
    period: float | None

    def __str__(self) -> str:
        if self.seconds is None:
            return "none"
        period = "none" if self.period is None else f"{self.period:.3f} s"
        return f"{self.metres:.4g} m at {self.seconds:.3f} s, period {period}"


def turning(times: np.ndarray, values: np.ndarray) -> Turning:
    """The first two minima, each from the parabola through three values."""
    values = np.asarray(values, np.float64)
    k = 1 + np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:]))
    if not len(k):
        return Turning(None, None, None)
    left, middle, right = values[k - 1], values[k], values[k + 1]
    shift = 0.5 * (left - right) / (left - 2 * middle + right)
    seconds = times[k] + shift * (times[1] - times[0])
    lows = middle - 0.25 * (left - right) * shift
    return Turning(float(seconds[0]), float(lows[0]), float(seconds[1] - seconds[0]) if len(k) > 1 else None)
