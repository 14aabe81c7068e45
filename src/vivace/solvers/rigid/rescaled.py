"""Impulses rescaled smoothly between sweeps, so that few sweeps carry the weight of many layers.

A sweep passes an impulse on from a body to the next, and what changes slowly from body to body, such as the weight that
a heap bears at every height, takes it very many. Between sweeps all impulses are therefore multiplied by one smooth
function of the place, 1 + Σ μⱼ φⱼ with hats φⱼ along the three axes. Friction sets are cones in the normal impulse, so
that impulses which were legal stay so. The μ are chosen so that complementarity holds in the mean of every hat,

    Σ_k φᵢ λₙ vₙ = 0,   v = A λ (1 + Σ μⱼ φⱼ) + b:      (pᵢᵀ A Pⱼ) μ = - pᵢᵀ (A λ + b),   p = φ λₙ,  P = φ λ.

An answer has λₙ vₙ = 0 at every contact and is left as it is. Testing with P in place of p would not leave it: friction
that slides has power. Impulses that are rescaled without their friction do not carry: it follows sweeps later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...checks import is_whole, shown
from ...errors import InputError
from .base import CONTACT_SOLVERS
from .kernels import rescaling as kernels
from .kernels.judge import SMALLEST
from .schemes import Factorised, Scheme
from .sweeping import ContactSets

BODIES = 4096  # of a chunk, whose sums are its own: fixed, so that results do not depend on threads
APART = 2.0  # cells are at least so many diameters long: what is finer is left to sweeps
REGULAR = 1e-6  # of the diagonal: hats with few impulses, and the constant that all axes have


@CONTACT_SOLVERS.register("rescaled")
@dataclass(eq=False)
class Rescaled(ContactSets):
    """Gauss-Seidel over contact sets, with impulses rescaled smoothly between sweeps: for heaps and tall stacks.

    Args:
        every: sweeps from one rescaling to the next.
        cells: along each axis, at most.

    Limitations: the factorised scheme only; a rescaling takes as long as three or four sweeps.
    """

    every: int = 5
    cells: int = 16

    name = "rescaled"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, most in (("every", 1000), ("cells", 64)):
            value = getattr(self, name)
            if not is_whole(value) or not 1 <= value <= most:
                raise InputError(f"{name} must be a whole number from 1 to {most}, not {shown(value)}")

    def planned(self, scheme: Scheme, threads: int) -> Callable[[int, int | None], int]:
        """A rescaling, some sweeps, and so on."""
        assert isinstance(scheme, Factorised)
        sweeps = Plan([*self.iteration(scheme), scheme.judge()], threads, scheme.monitor)
        rescaling = Rescaling(scheme, self.cells, threads)
        return lambda iterations, deadline_ns: self._run(scheme, sweeps, rescaling, iterations, deadline_ns)

    def _run(
        self, scheme: Factorised, sweeps: Plan, rescaling: Rescaling, iterations: int, deadline_ns: int | None
    ) -> int:
        made = 0
        while made < iterations:
            rescaling.run()
            scheme.record[SMALLEST] = np.inf  # what sweeps change after it says nothing about those before
            made += sweeps.run(min(self.every, iterations - made), deadline_ns)
            if scheme.residual <= scheme.monitor[1]:
                break
            if deadline_ns is not None and time.perf_counter_ns() >= deadline_ns:
                break
        return made


class Rescaling:
    """Hats over the contacts of a problem, and the plans that rescale its impulses."""

    def __init__(self, scheme: Factorised, cells: int, threads: int):
        problem = scheme.problem
        if problem.points is None:
            raise InputError("rescaled must know where contacts are: give the problem's points, or choose contact-sets")
        points = problem.points[scheme.order]
        size = 2.0 * float(np.linalg.norm(problem.arms[:, 1], axis=1).mean())  # of a body
        low, extent = points.min(axis=0), np.ptp(points, axis=0)
        counts = np.minimum(extent / max(APART * size, 1e-300), cells).astype(np.int64)
        self._hats = np.where(counts > 0, counts + 1, 0)
        if not self._hats.any():  # a few bodies: one factor for all, as two hats over the longest axis
            self._hats[np.argmax(extent)] = 2
        cut = np.maximum(self._hats - 1, 0)
        places = (points - low) / np.maximum(extent, 1e-300) * cut
        firsts = np.concatenate([[0], np.cumsum(self._hats)]).astype(np.int32)
        hats = int(firsts[-1])
        chunks = np.append(np.arange(0, problem.bodies, BODIES), problem.bodies).astype(np.int32)
        count = len(chunks) - 1
        self._sums, self._factors = np.zeros((count, hats + 1, hats)), np.zeros(hats)
        shared = {"places": np.ascontiguousarray(places).ravel(), "firsts": firsts, "impulses": scheme.impulses}
        more = {name: scheme.arrays[name] for name in ("rows", "bodies", "w")}
        more |= {"chunks": chunks, "starts": scheme.starts, "touching": scheme.touching, "out": self._sums.ravel()}
        more |= {"scratch": np.zeros(count * hats * kernels.WIDTH), "marks": np.zeros(2 * count * hats, np.int32)}
        every = scheme.add_changes(0, scheme.contacts)
        self._impulses = scheme.impulses
        self._assembly = Plan([Phase(kernels.assemble, {**shared, **more}, 0, count)], threads)
        factors = {**shared, "factors": self._factors}
        self._change = Plan([Phase(kernels.rescale, factors, 0, scheme.contacts), every], threads)

    def run(self) -> None:
        """Rescale the impulses, and bring velocities up to date."""
        if not self._impulses.any():
            return
        self._assembly.run()
        sums = self._sums.sum(axis=0)
        matrix, power = sums[:-1], sums[-1]
        diagonal = np.abs(np.diagonal(matrix))
        ridge = REGULAR * diagonal + 1e-9 * diagonal.max() + 1e-300
        found = np.linalg.solve(matrix + np.diag(ridge), -power)
        if np.isfinite(found).all():
            self._factors[:] = found
            self._change.run()
