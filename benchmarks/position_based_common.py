"""What the parts of `position_based.py` share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.backends.cpu.executor import check_threads
from vivace.errors import InputError
from vivace.scenes.papers import check_scale

Rows = list[tuple[str, str]]
Found = tuple[Rows, dict[str, object]]  # a table for people, and all numbers


@dataclass(frozen=True)
class Options:
    """`scale`: share of the papers' constraints; `frames`: None for each part's own; `out`: where figures go."""

    scale: float = 1.0
    frames: int | None = None
    threads: int = 2
    out: Path | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_threads(self.threads)
        if self.frames is not None and self.frames < 1:
            raise InputError(f"a part needs at least one frame, not frames={self.frames!r}")

    def settings(self, **more: object) -> dict[str, object]:
        """All that is needed to do it again."""
        return {"version": vv.__version__, "scale": self.scale, "threads": self.threads, **more}


def told(values: Sequence[float] | np.ndarray) -> str:
    low, middle, high = (f"{v:.0f}" if v >= 100 else f"{v:.3g}" for v in np.percentile(values, [10, 50, 90]))
    return f"{middle} ({low}–{high})"


def timed_ms(call: Callable[[], object]) -> tuple[float, object]:
    begin = time.perf_counter()
    result = call()
    return (time.perf_counter() - begin) * 1e3, result
