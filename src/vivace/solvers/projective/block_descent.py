"""Newton's method vertex by vertex, over the colours of the constraint graph: vertex block descent [chen2024].

Gauss-Seidel divides by Y_ii in every direction, as if projections stayed where they are. But a spring's turns with its
vertex, and across a sheet hardly anything holds that back: with the block of the Hessian in its place it moves farther.

    springs     the block of the true energy at the newest positions, without its negative part
    tet-strain  the block of linear elasticity in the frame of the rotation R, w/2 (|a|² I + R a aᵀ Rᵀ), made of the
                shares that the local pass leaves. The true one depends on the strain as well and was no better: 0.580
                of the error left on an armadillo after 60 sweeps, against 0.573
    all others  as in Y: inertia, pins, contacts, hinges, viscosity, tet-volume, users' own

Descent. A clamped Hessian is no majorant, and a little damping does not make it one: in 1908 sweeps over the named
scenes, from pressed, noisy, scattered and inside-out states at steps of 33 ms to 10 s, ε rose in 6, 9, 3 and 0 of them
with 0, 1, 5 and 20 % of Y_ii mixed in (50 % are enough for a proof), and 20 % cost three quarters of what is gained on
the tablecloth. So an update that would raise ε over its vertex gives way to Gauss-Seidel's, which cannot: no sweep
raises ε, whatever the state and the damping, and none of the 1908 did. Blocks of tetrahedra, whose rotations are held,
are at least half of what Y has for them: their steps stay inside the parabola that lies above ε.

From frame to frame. To the roughest modes the smaller block under a held rotation is over-relaxation, by up to two.
One such sweep a frame feeds on its own velocities (see `vivace`): after a hundred frames a body hung by its hand was
farther than free fall goes. So where there is tet-strain the first sweep is plain. Springs have no need of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...checks import is_number
from ...colouring import COLOURINGS
from ...constraints.kernels.local import gather
from ...constraints.kernels.rotation import local_rotations
from ...energy.kernels.assemble import pair_springs, spring_rows
from ...energy.system import System
from ...errors import InputError
from ..base import SOLVERS, Deadline, Outcome
from .kernels.blocks3 import sweep_blocks
from .layout import Layout
from .sweeping import SweepingSolver, check_omega
from .vivace import Vivace

LEAST_DAMPING = 1e-3  # below, the cofactors of a block whose smallest two eigenvalues are θ drown in float32's rounding


@SOLVERS.register("block-descent")
@dataclass(eq=False)
class BlockDescent(SweepingSolver):
    """Coloured parallel Gauss-Seidel with a 3 x 3 Newton step at each vertex: for cloth.

    Springs and tet-strain have blocks of their own. Tet-volume and all other constraints keep the scalar of Y, so that
    bodies with a Poisson ratio gain little. A sweep over cloth takes as long as three to four of Gauss-Seidel.

    Attributes:
        omega: share of the step that is taken, (0, 1].
        damping: share of Y_ii mixed into the block, 0.001 to 1; 1 is Gauss-Seidel.
        colouring_algorithm: name of a colouring (see `vivace list colourings`).
        balance: even out the colours' sizes after colouring.

    Limitations: no constraints known by their value, no energy terms of a model's own; few sweeps leave cloth
    stretched and brake its motion; contacts are springs without memory, so that heaps creep.
    """

    omega: float = 1.0
    damping: float = LEAST_DAMPING
    colouring_algorithm: str = "greedy-smallest-last"
    balance: bool = False

    name = "block-descent"

    def __post_init__(self) -> None:
        check_omega(self.omega, 1.0)
        if not is_number(self.damping) or not LEAST_DAMPING <= self.damping <= 1:
            raise InputError(f"damping must lie in {LEAST_DAMPING:g} to 1, not {self.damping!r}")
        COLOURINGS[self.colouring_algorithm]

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """Colour by colour, as `Vivace` visits them."""
        coloured = Vivace(colouring_algorithm=self.colouring_algorithm, balance=self.balance)
        order = coloured.visiting_order(system, threads, seed)
        self.colouring = coloured.colouring
        return order

    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        """A phase for each colour: a 3 x 3 Newton step at each of its vertices."""
        assert self.colouring is not None
        spring_at, spring_j, spring_a, spring_wl, spring_w, soft = _springs(layout)
        slot_at, shares, scales, turned = _shares(layout)
        self._own = soft + turned
        self._even = np.zeros(layout.n, np.float32)
        self._set_even(layout)
        omega = np.array([self.omega], np.float32)
        dampings = np.array([1.0, self.damping] if turned.any() else [self.damping], np.float32)
        springs = {"spring_at": spring_at, "spring_j": spring_j, "spring_a": spring_a, "spring_wl": spring_wl}
        arrays = {
            **layout.swept,
            **springs,  # padded to fours, in the place of the layout's
            "omega": omega,
            "dampings": dampings,
            "spring_w": spring_w,
            "even_part": self._even,
            "slot_at": slot_at,
            "shares": shares,
            "scales": scales,
        }
        ends = np.cumsum(self.colouring.sizes)
        begins = ends - self.colouring.sizes
        return [Phase(sweep_blocks, arrays, int(a), int(b)) for a, b in zip(begins, ends, strict=True)]

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Sweep; what pins or contacts have added to the diagonal goes into the blocks first."""
        if self.layout is not None and self._even_of is not self.layout.system:  # pins or contacts have changed
            self._set_even(self.layout)
        return super().solve(start, constant, out, deadline)

    def _set_even(self, layout: Layout) -> None:
        """k of each vertex: Y_ii without what has a block of its own. In float64, where little is left of much."""
        self._even_of = layout.system
        self._even[:] = np.maximum(layout.system.diagonal[layout.order] - self._own, 0.0)


def _springs(layout: Layout) -> tuple[np.ndarray, ...]:
    """The springs at each vertex in visiting order, padded to fours: rows, other ends, a, w l, w; then Σ w (n,)."""
    groups = layout.system.springs
    pairs = np.concatenate([g.vertices for g in groups]) if groups else np.zeros((0, 2), np.int32)
    weights = np.concatenate([g.weights for g in groups]) if groups else np.zeros(0)
    mesh_at, other, number = pair_springs(layout.n, pairs)
    w = spring_rows(layout.order, layout.rank, mesh_at, other, weights[number], np.ones(len(number)))[2]
    at, j, a, wl, *_ = layout.rows
    counts = np.diff(at)
    room = (counts + 3) // 4 * 4
    padded_at = np.concatenate([[0], np.cumsum(room)]).astype(np.int32)
    to = np.arange(at[-1]) + np.repeat(padded_at[:-1] - at[:-1], counts)
    padded_j = np.repeat(np.arange(layout.n, dtype=np.int32), room)
    padded_j[to] = j[: at[-1]]
    values = np.zeros((3, padded_at[-1]), np.float32)
    values[:, to] = a[: at[-1]], wl[: at[-1]], w[: at[-1]]
    total = np.bincount(pairs.ravel(), np.repeat(weights, 2), minlength=layout.n)
    return padded_at, padded_j, *values, total[layout.order]


def _shares(layout: Layout) -> tuple[np.ndarray, ...]:
    """Slots and shares of the local pass, c of each share (1/(2w) for tet-strain, else 0), and Σ w |a|²/2 (n,)."""
    slot_at, shares = np.zeros(layout.n + 1, np.int32), np.zeros((0, 4), np.float32)
    gathers = [phase.arrays for phase in layout.local_phases if phase.kernel is gather]
    if layout.system.projected:  # the first: contacts have one of their own
        slot_at, shares = gathers[0]["slot_at"], gathers[0]["shares"]
    scales, turned = np.zeros(len(shares), np.float32), np.zeros(layout.n)
    for phase in layout.local_phases:
        if phase.kernel is local_rotations:
            vertices, weights = phase.arrays["vertices"].ravel(), phase.arrays["weights"]
            squares = np.square(phase.arrays["operator"].astype(np.float64)).reshape(-1, 3, 4).sum(axis=1)
            scales[phase.arrays["slots"].ravel()] = np.repeat(
                np.divide(0.5, weights, where=weights > 0, out=np.zeros_like(weights)), 4
            )
            turned += np.bincount(vertices, (0.5 * weights[:, None] * squares).ravel(), minlength=layout.n)
    return slot_at, shares, scales, turned
