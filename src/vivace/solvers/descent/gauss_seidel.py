"""Gauss-Seidel with 3 x 3 Newton blocks over the colours of a hyperelastic body: vertex block descent [chen2024].

A sweep moves each body as a whole, and then visits all vertices, those of one colour together: each makes the step of
`kernels.vertex_blocks` from the newest positions of its neighbours. Every second sweep goes backwards, so that two of
them are symmetric.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from ...backends.cpu.executor import Plan
from ...colouring import colour
from ...errors import InputError
from .direction import Direction, Jacobi
from .kernels.vertex_blocks import sweep_vertices
from .momentum import Momentum
from .problem import Problem


class GaussSeidel(Direction):
    """One vertex after the other, each by its own Hessian."""

    searches, momentum = False, True

    def __init__(self, problem: Problem, history: int = 0):
        super().__init__(problem, history)
        layout = problem.layout
        if not layout.potentials:
            raise InputError(
                'direction "gauss-seidel" is for hyperelastic bodies, and this model has none; '
                'take the solver "block-descent", which does the same for cloth'
            )
        n = layout.n
        colours = colour(*layout.system.graph, "greedy-smallest-last", check=False).colours[layout.order]
        self._fresh = np.ones(1)
        forward = []
        owner = _owners([potential.vertices for potential in layout.potentials], n)
        for number, potential in enumerate(layout.potentials):
            mine = np.flatnonzero(owner == number)
            visit = mine[np.argsort(colours[mine], kind="stable")].astype(np.int32)
            own: dict[str, np.ndarray] = {"visit": visit, "rest": problem.rest}
            own |= {"blocks": np.zeros(6 * n), "fresh": self._fresh}
            swept = {name: array for name, array in layout.swept.items() if name not in ("inverse", "square")}
            kernel, arrays = potential.sweeping(sweep_vertices, {**swept, **own})
            ends = np.searchsorted(colours[visit], np.arange(colours.max() + 2))
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if end > begin:
                    forward.append(kernel.over(begin, end, **arrays))
        self._sweeps = Plan(forward, layout.threads), Plan(forward[::-1], layout.threads)
        self._body = connected_components(layout.system.off)[1][layout.order]
        self._made, self._count = -1, 0
        self._plain = Jacobi(problem)

    def begin(self) -> None:
        """Blocks are made anew, and the first sweep goes forward."""
        self._made, self._count = -1, 0

    def step(self, length: float, momentum: Momentum) -> float:
        """A sweep is q̄; the step length has no say in it, for each vertex finds its own.

        Elements that are held because they are tangled have no density: steps with some are those of `jacobi`.
        """
        problem = self.problem
        if any(potential.tangle.holds for potential in problem.layout.potentials):
            return self._plain.step(length, momentum)
        self._fresh[0] = float(self._made != problem.preconditioned)
        self._made = problem.preconditioned
        before = problem.q.copy()
        self._shift()
        self._sweeps[self._count % 2].run()
        self._count += 1
        new = problem.q.copy()
        np.copyto(problem.q, before)
        momentum.next(problem.q, new)
        return length

    def _shift(self) -> None:
        """Each body as a whole, by Newton's step in its three coordinates, resisted by what ties it to the world alone.

        Sweeps are slow at that: what they have given a body on its way would come back as velocity, always to the same
        side. A cube on a floor slid at 4 cm/s without it, with 30 sweeps a step.
        """
        problem, body = self.problem, self._body
        with np.errstate(invalid="ignore", over="ignore"):
            pulled = np.stack([np.bincount(body, problem.r[:, c]) for c in range(3)], axis=1)
            moved = pulled / np.bincount(body, problem.layout.tie)[:, None]
            problem.q[:, :3] += moved[body].astype(np.float32)


def _owners(elements: list[np.ndarray], n: int) -> np.ndarray:
    """Which of several bodies each vertex belongs to; those of none go with the first."""
    owner = np.full(n, -1)
    for number, vertices in enumerate(elements):
        mine = np.unique(vertices)
        if (owner[mine] >= 0).any():
            raise InputError(
                'direction "gauss-seidel" cannot visit vertices that belong to two hyperelastic terms; '
                "take another direction, or one term with constants for each element"
            )
        owner[mine] = number
    found: np.ndarray = np.maximum(owner, 0)
    return found
