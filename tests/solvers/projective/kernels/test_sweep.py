"""The three sweeps against the printed residual, vertex by vertex.

A Gauss-Seidel sweep is checked one update at a time: vertex i has read the new positions of the vertices before it and
the old ones of those after it, so the twin reads the kernel's own output for j < i. No error is carried along, and the
tolerance is the rounding of one float32 sum.
"""

from __future__ import annotations

import numpy as np
import pytest

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32
from vivace.backends.cpu.executor import Plan
from vivace.energy.kernels.assemble import PADDING
from vivace.solvers.projective import layout
from vivace.solvers.projective.kernels.sweep import sweep_jacobi, sweep_printed, sweep_sor

N = 60


class Rows:
    """Random rows: 0 to 9 springs and 0 to 5 other neighbours a vertex, so that every remainder of four is met."""

    def __init__(self, offset=0.0, seed=0):
        rng = np.random.default_rng(seed)
        springs, others = np.arange(N) % 10, np.arange(N) // 10
        spring_at, other_at = (np.concatenate([[0], np.cumsum(k)]).astype(np.int32) for k in (springs, others))

        def neighbours(counts, padding):
            picks = [rng.choice(np.delete(np.arange(N), i), k, replace=False) for i, k in enumerate(counts)]
            return np.concatenate([*picks, np.zeros(padding)]).astype(np.int32)

        def values(count, low, high):
            return rng.uniform(low, high, count).astype(np.float32)

        spring_j, other_j = neighbours(springs, PADDING), neighbours(others, PADDING)
        self.rows = layout.Rows(
            *(spring_at, spring_j, values(len(spring_j), 1e3, 1e4), values(len(spring_j), 10.0, 1e3)),
            *(other_at, other_j, values(len(other_j), -50.0, 100.0)),
        )
        self.tie = values(N, 1.0, 10.0)
        total = np.zeros(N)
        for at, a in ((spring_at, self.rows.spring_a), (other_at, self.rows.other_a)):
            total += [a[at[i] : at[i + 1]].sum(dtype=np.float64) for i in range(N)]
        self.diagonal = self.tie + np.maximum(total, 1.0)
        self.inverse = (1 / self.diagonal).astype(np.float32)
        self.q = twins.to_rows(rng.standard_normal((N, 3)) + offset)
        self.base = twins.to_rows(self.tie[:, None] * (rng.standard_normal((N, 3)) + offset))
        self.square = np.zeros(N, np.float32)

    def run(self, kernel, omega, extra=None, iterations=1):
        """`extra`: the array that the kernel has beyond the others, whatever it calls it."""
        own = {"tie": self.tie, "inverse": self.inverse, "base": self.base, "q": self.q, "square": self.square}
        relax = np.atleast_1d(np.asarray(omega, np.float32))
        more = {"weights": relax, "omega": relax, "older": extra, "new": extra}
        phase = kernel.over(0, N, serial=True, **self.rows._asdict(), **own, **kernel.select(more))
        Plan([phase], 1).run(iterations)

    def residual(self, i, q):
        r, size, terms = twins.residual(i, self.rows, self.tie, self.base, q)
        return r, twins.residual_tolerance(size, terms)

    def check_square(self, i, r, tolerance):
        """|r|² is recorded: its root is within the rounding of r, and the square within three roundings of itself."""
        norm = np.linalg.norm(r)
        assert abs(np.sqrt(float(self.square[i])) - norm) <= tolerance + 2 * EPS32 * norm


def newest(i, before, after):
    """What vertex i reads in a Gauss-Seidel sweep."""
    return np.concatenate([after[:i], before[i:]])


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("omega", [1.0, 1.5, 0.3])
def test_sor(omega, offset):
    """q_i ← q_i + ω r_i / Y_ii with the newest neighbours.

    1000 m from the origin the same tolerance holds: the only large terms are k_i c_i and k_i q_i, whose rounding is
    that of the positions. Written as b - Σ Y q the error would be Y_ii / k_i times as large, a thousandfold here.
    """
    rows = Rows(offset)
    before = rows.q.copy()
    rows.run(sweep_sor, omega)
    for i in range(N):
        r, tolerance = rows.residual(i, newest(i, before, rows.q))
        rows.check_square(i, r, tolerance)
        step = omega / rows.diagonal[i]
        rounding = EPS32 * (np.abs(before[i, :3]).max() + 3 * step * np.linalg.norm(r))
        assert np.abs(before[i, :3] + step * r - rows.q[i, :3]).max() <= step * tolerance + rounding
    assert not rows.q[:, 3].any()


def test_sor_takes_its_weights_in_turn():
    """Sweep k relaxes with ω_k, and the last weight holds for all later sweeps."""
    turns = [1.0, 1.4, 1.7]
    together, apart = Rows(), Rows()
    together.run(sweep_sor, turns, iterations=5)
    for omega in (*turns, 1.7, 1.7):
        apart.run(sweep_sor, omega)
    assert np.array_equal(together.q, apart.q)
    assert np.array_equal(together.square, apart.square)


def test_far_from_the_origin_the_residual_is_that_of_the_rounded_positions():
    """Shift q and c by 1024 m, positions rounded first: r changes by the rounding of k c and k q only."""
    near, far = Rows(), Rows()
    grid = 2.0**-13  # spacing of float32 from 1024 m on
    shift = np.array([1024.0, 1024.0, 1024.0, 0.0])
    q = np.round(near.q / grid) * grid
    near.q[:], far.q[:] = q, q + shift
    assert np.array_equal(far.q, q + shift)  # no rounding here: every difference of positions is the same
    far.base[:] = near.base + far.tie[:, None] * shift
    for rows in (near, far):
        rows.run(sweep_jacobi, 1.0, np.zeros((N, 4), np.float32))
    norms = [np.sqrt(rows.square.astype(np.float64)) for rows in (near, far)]
    for i in range(N):
        tolerance = near.residual(i, near.q)[1] + 4 * np.sqrt(3) * EPS32 * float(near.tie[i]) * 1030.0
        assert abs(norms[0][i] - norms[1][i]) <= tolerance


@pytest.mark.slow
def test_printed():
    """q^(k+1) = ω (q̂ - q^(k-1)) + q^(k-1) [fratarcangeli2016, Alg. 1, l. 7]; the first sweep relaxes from q^0."""
    omega = 1.3
    iterates = [Rows().q]
    for k in (1, 2, 3):  # a run is deterministic: iterate k is that of a run of k
        rows, older = Rows(), np.full((N, 4), np.nan, np.float32)
        rows.run(sweep_printed, omega, older, iterations=k)
        iterates.append(rows.q)
        assert np.array_equal(older, iterates[k - 1])
        old, before = iterates[max(k - 2, 0)][:, :3].astype(np.float64), iterates[k - 1]
        for i in range(N):
            r, tolerance = rows.residual(i, newest(i, before, rows.q))
            rows.check_square(i, r, tolerance)
            hat = before[i, :3] + r / rows.diagonal[i]
            expected = omega * (hat - old[i]) + old[i]
            size = np.abs(hat).max() + np.abs(before[i]).max() + np.abs(old[i]).max()
            assert np.abs(expected - rows.q[i, :3]).max() <= omega * (tolerance / rows.diagonal[i] + 3 * EPS32 * size)


@pytest.mark.parametrize("omega", [1.0, 0.6])
def test_jacobi(omega):
    """new_i = q_i + ω r_i(q) / Y_ii, all from the last iterate, which stays as it was."""
    rows = Rows()
    before, new = rows.q.copy(), np.zeros((N, 4), np.float32)
    rows.run(sweep_jacobi, omega, new)
    assert np.array_equal(rows.q, before)
    for i in range(N):
        r, tolerance = rows.residual(i, before)
        rows.check_square(i, r, tolerance)
        step = omega / rows.diagonal[i]
        rounding = EPS32 * (np.abs(before[i, :3]).max() + 3 * step * np.linalg.norm(r))
        assert np.abs(before[i, :3] + step * r - new[i, :3]).max() <= step * tolerance + rounding


@pytest.mark.parametrize("kernel", [sweep_sor, sweep_printed, sweep_jacobi], ids=lambda k: k.__name__)
def test_coincident_vertices_give_finite_results(kernel):
    """A spring of no length has no direction: its force is zero, and nothing is divided by zero."""
    rows = Rows()
    rows.q[:] = rows.q[0]
    extra = np.zeros((N, 4), np.float32)
    rows.run(kernel, 1.0, extra)
    assert np.isfinite(rows.q).all()
    assert np.isfinite(extra).all()
    assert np.isfinite(rows.square).all()
    # vertex 0 has read only coincident neighbours: r = k (c - q)
    r = rows.base[0].astype(np.float64) - float(rows.tie[0]) * Rows().q[0].astype(np.float64)
    assert np.sqrt(float(rows.square[0])) == pytest.approx(np.linalg.norm(r), rel=20 * EPS32)


def test_the_sweep_meets_the_residual_of_the_system():
    """On a cloth with springs, hinges, pins and both dampings |r_i| is |b - Y q|_i of the float64 system."""
    model = vv.Model.of(vv.mesh.cloth(7, 6), vv.Cloth(stretch=1e3, bend=1e-3), air=0.5, viscosity=0.01)
    model = model.pin("top-corners")
    system = vv.System(model, 1 / 60)
    rng = np.random.default_rng(5)
    q = twins.to_rows(model.mesh.vertices + 0.05 * rng.standard_normal((model.n, 3)))
    previous = q[:, :3].astype(np.float64) + 0.01
    frame = vv.Frame(previous + 0.02, previous + 0.02, previous, model.targets)
    own = layout.Layout(system, rng.permutation(model.n), 1)
    own.load(q, twins.to_rows(system.constant(frame)))
    new = np.zeros((model.n, 4), np.float32)
    Plan([sweep_jacobi.over(0, model.n, **own.swept, omega=np.ones(1, np.float32), new=new)], 1).run()
    at = q[:, :3].astype(np.float64)
    r = system.right_hand_side(at, frame) - system.matrix @ at
    for i, vertex in enumerate(own.order):
        _, size, terms = twins.residual(i, own.rows, own.tie, own.base, own.q)
        # the coefficients are rounded to float32 as well: one more rounding of each term
        tolerance = twins.residual_tolerance(size, terms + 1)
        assert abs(np.sqrt(float(own.square[i])) - np.linalg.norm(r[vertex])) <= tolerance
