"""Anderson's acceleration of a sweep, taken as a map from impulses to impulses [anderson1965; walker2011].

A sweep is λ → G(λ), and its answer a fixed point. From the last few λ and what the sweep made of them the next λ is the
combination whose change G(λ) - λ would be smallest if G were affine. It is as good as conjugate gradients are for
symmetric systems, and needs nothing but the sweep. A combination may be illegal, or lead away: the next sweep's
proximal maps mend the one, and if the change grows all is forgotten and the plain sweep taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.executor import Plan
from ...checks import is_whole, shown
from ...errors import InputError
from .base import CONTACT_SOLVERS
from .schemes import Factorised, Scheme
from .sweeping import ContactSets

REGULAR = 1e-12  # of the largest product, so that changes that depend on each other do no harm
WORSE = 2.0  # times the change before: forget


@CONTACT_SOLVERS.register("anderson")
@dataclass(eq=False)
class Anderson(ContactSets):
    """Gauss-Seidel over contact sets, accelerated by what the last iterations did.

    Args:
        memory: how many of them.

    Limitations: reads and writes all impulses `memory` times an iteration; the factorised scheme only.
    """

    memory: int = 5

    name = "anderson"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_whole(self.memory) or not 1 <= self.memory <= 50:
            raise InputError(f"memory must be a whole number from 1 to 50, not {shown(self.memory)}")

    def planned(self, scheme: Scheme, threads: int) -> Callable[[int, int | None], int]:
        """A sweep, a judgement, a combination; velocities are made anew, because impulses have been combined."""
        assert isinstance(scheme, Factorised)
        sweep = Plan([*self.iteration(scheme), scheme.judge()], threads, scheme.monitor)
        refresh = Plan([scheme.add_changes(0, scheme.contacts)], threads)
        return lambda iterations, deadline_ns: self._run(scheme, sweep, refresh, iterations, deadline_ns)

    def _run(self, scheme: Factorised, sweep: Plan, refresh: Plan, iterations: int, deadline_ns: int | None) -> int:
        x, changes, images = scheme.impulses, list[np.ndarray](), list[np.ndarray]()
        last = np.inf
        for made in range(1, iterations + 1):
            before = x.copy()
            sweep.run()
            if scheme.residual <= scheme.monitor[1] or made == iterations:
                return made
            if deadline_ns is not None and time.perf_counter_ns() >= deadline_ns:
                return made
            change = x - before
            size = float(np.linalg.norm(change))
            if size > WORSE * last:
                changes.clear()
                images.clear()
            last = size
            changes.append(change)
            images.append(x.copy())
            del changes[: -self.memory - 1], images[: -self.memory - 1]
            if len(changes) > 1:
                x[:] = _combined(changes, images)
                refresh.run()
        return iterations


def _combined(changes: list[np.ndarray], images: list[np.ndarray]) -> np.ndarray:
    """Σ α_i G(λ_i), Σ α_i = 1, with the smallest Σ α_i (G(λ_i) - λ_i)."""
    newest = changes[-1]
    ways = np.array([newest - change for change in changes[:-1]])
    gram = ways @ ways.T
    gram[np.diag_indices_from(gram)] += REGULAR * np.trace(gram) + 1e-300
    weights = np.linalg.solve(gram, ways @ newest)
    out = images[-1].copy()
    for weight, image in zip(weights, images[:-1], strict=True):
        out -= weight * (images[-1] - image)
    return out
