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
        x, history, last = scheme.impulses, History(self.memory), np.inf
        for made in range(1, iterations + 1):
            before = x.copy()
            sweep.run()
            if scheme.residual <= scheme.monitor[1] or made == iterations:
                return made
            if deadline_ns is not None and time.perf_counter_ns() >= deadline_ns:
                return made
            change = np.subtract(x, before, out=before)
            size = _product(change, change) ** 0.5
            if size > WORSE * last:
                history.clear()
            last = size
            if history.combine(change, x):
                refresh.run()
        return iterations


class History:
    """What the last iterations did, as differences from each to the next, and the products of these.

    Products are kept, so that an iteration reads every array of the history three times, however many there are.
    """

    def __init__(self, memory: int):
        self._memory = memory
        self.clear()

    def clear(self) -> None:
        """Forget all of it."""
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._changes, self._images = list[np.ndarray](), list[np.ndarray]()
        self._products = np.zeros((0, 0))

    def combine(self, change: np.ndarray, x: np.ndarray) -> bool:
        """Σ α_i G(λ_i), Σ α_i = 1, with the smallest Σ α_i (G(λ_i) - λ_i), written to x = G(λ); False: x stays.

        That is G(λ) - Σ γ_k ΔG_k with the γ that make G(λ) - λ - Σ γ_k ΔF_k smallest [walker2011, (2.2)]; `change` is
        G(λ) - λ, and is kept.
        """
        image = x.copy()
        before, self._last = self._last, (change, image)
        if before is None:
            return False
        self._remember(change - before[0], image - before[1])
        gram = self._products.copy()
        gram[np.diag_indices_from(gram)] += REGULAR * np.trace(gram) + 1e-300
        shares = np.linalg.solve(gram, [_product(way, change) for way in self._changes])
        scratch = np.empty_like(x)
        for share, way in zip(shares, self._images, strict=True):
            x -= np.multiply(way, share, out=scratch)
        return True

    def _remember(self, change: np.ndarray, image: np.ndarray) -> None:
        if len(self._changes) == self._memory:
            del self._changes[0], self._images[0]
            self._products = self._products[1:, 1:]
        self._changes.append(change)
        self._images.append(image)
        row = [_product(way, change) for way in self._changes]
        self._products = np.pad(self._products, ((0, 1), (0, 1)))
        self._products[-1, :] = self._products[:, -1] = row


def _product(a: np.ndarray, b: np.ndarray) -> float:
    """aᵀb in one thread: the threads of a library for linear algebra wait for each other where the machine is busy."""
    return float(np.einsum("i,i->", a, b))
