"""WIP"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..checks import is_number
from ..colouring import COLOURINGS
from ..errors import InputError
from ..kernels.assemble import pair_springs, spring_rows
from ..kernels.blocks3 import sweep_blocks
from ..kernels.local import gather
from ..kernels.rotation import local_rotations
from ..kernels.team import Phase
from ..system import System
from .base import SOLVERS
from .layout import Layout
from .sweeping import SweepingSolver, check_omega
from .vivace import Vivace


@SOLVERS.register("block-descent")
@dataclass(eq=False)
class BlockDescent(SweepingSolver):
    """Gauss-Seidel over colours with a 3 x 3 Newton step at each vertex.

    omega                share of the step that is taken, (0, 1]
    damping              share of Gauss-Seidel's Y_ii in the block, 0 to 1; 1 is Gauss-Seidel
    colouring_algorithm  name of a colouring (see `vivace list colourings`)
    balance              even out the colours' sizes after colouring
    """

    omega: float = 1.0
    damping: float = 0.01
    colouring_algorithm: str = "brooks-vizing"
    balance: bool = False

    name = "block-descent"
    tets = True

    def __post_init__(self) -> None:
        check_omega(self.omega, 1.0)
        if not is_number(self.damping) or not 0 <= self.damping <= 1:
            raise InputError(f"damping must lie in 0 to 1, not {self.damping!r}")
        COLOURINGS[self.colouring_algorithm]

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        colours = Vivace(colouring_algorithm=self.colouring_algorithm, balance=self.balance)
        order = colours.visiting_order(system, threads, seed)
        self.colouring = colours.colouring
        return order

    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        springs, soft = self._springs(layout)
        slot_at, shares, scales, tets = self._shares(layout)
        rest = (layout.system.diagonal[layout.order] - soft - tets).astype(np.float32)
        omega = np.array([self.omega], np.float32)
        dampings = np.array([1.0, self.damping] if tets.any() else [self.damping], np.float32)
        state = (layout.tie, layout.inverse, layout.base, layout.q, layout.square)
        arrays = (*springs[:4], *layout.rows[4:], *state, springs[4], rest, slot_at, shares, scales, omega, dampings)
        assert self.colouring is not None
        ends = np.cumsum(self.colouring.sizes)
        return [Phase(sweep_blocks, arrays, int(end - size), int(end)) for size, end in zip(self.colouring.sizes, ends)]

    def _springs(self, layout):
        springs = layout.system.springs
        pairs = np.concatenate([g.vertices for g in springs]) if springs else np.zeros((0, 2), np.int32)
        weights = np.concatenate([g.weights for g in springs]) if springs else np.zeros(0)
        at, other, number = pair_springs(layout.n, pairs)
        _, _, w = spring_rows(layout.order, layout.rank, at, other, weights[number], np.ones(len(number)))
        total = np.bincount(pairs.ravel(), np.repeat(weights, 2), minlength=layout.n)
        at, j, *values = (*layout.rows[:4], w)
        counts = np.diff(at)
        room = -(-counts // 4) * 4
        to = np.concatenate([[0], np.cumsum(room)]).astype(np.int32)
        where = np.arange(at[-1]) + np.repeat(to[:-1] - at[:-1], counts)
        out = [to, np.repeat(np.arange(layout.n, dtype=np.int32), room)]
        out[1][where] = j[: at[-1]]
        for v in values:
            p = np.zeros(to[-1], np.float32)
            p[where] = v[: at[-1]]
            out.append(p)
        return out, total[layout.order]

    def _shares(self, layout):
        for phase in layout.local_phases:
            if phase.kernel is gather:
                slot_at, shares = phase.arrays[:2]
                break
        else:
            slot_at, shares = np.zeros(layout.n + 1, np.int32), np.zeros((0, 4), np.float32)
        scales = np.zeros(len(shares) + 4, np.float32)
        half = np.zeros(layout.n)
        if self.tets:
            for phase in layout.local_phases:
                if phase.kernel is local_rotations:
                    w, slots = phase.arrays[2], phase.arrays[4]
                    scales[slots] = 0.5 / np.repeat(w, 4)
                    vertices, op = phase.arrays[0], phase.arrays[1].reshape(-1, 3, 4)
                    aa = np.einsum("mrk,mrk,m->mk", op, op, w.astype(float))
                    half += np.bincount(vertices, 0.5 * aa.ravel(), minlength=layout.n)
        return slot_at, shares, scales, half
