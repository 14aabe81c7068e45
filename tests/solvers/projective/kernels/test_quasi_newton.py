"""L-BFGS kernels against the two loops of the textbook, in float64."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from kernel_twins import EPS32, blocks
from vivace.backends.cpu.executor import Plan
from vivace.solvers.projective.kernels.acceleration import BLOCK
from vivace.solvers.projective.kernels.quasi_newton import (
    COUNT,
    FARTHEST,
    PRODUCTS,
    REJECTED,
    REJECTIONS,
    SCALE,
    judge,
    judge_blocks,
    pair_products,
    quasi_newton_step,
    recursion,
    take_back,
)
from vivace.solvers.projective.kernels.quasi_newton import STATE_SIZE as PAIR_STATE_SIZE
from vivace.solvers.projective.safeguarded import ROUNDING


def two_loops(pairs, precondition, r):
    """The direction of [nocedal2006, Alg. 7.4] for the gradient -r; `pairs` are (s, y), oldest first."""
    x, weights = -r.copy(), []
    for s, y in reversed(pairs):
        weights.append(np.sum(s * x) / np.sum(s * y))
        x -= weights[-1] * y
    x = precondition(x)
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        x += (weight - np.sum(y * x) / np.sum(s * y)) * s
    return -x


class Pairs:
    """The phases of L-BFGS over q, a residual and a symmetric positive correction, and their float64 twin.

    The residual is that of Σ λ q²/2 + t q⁴/4 minus a linear term, the correction that of a wrong diagonal.
    """

    def __init__(self, n, *, memory, keep=False, longest=1.0, seed=0, threads=1):
        rng = np.random.default_rng(seed)
        self.n, self.memory, self.threads = n, memory, threads
        self.stiffness, self.right = rng.uniform(0.5, 3.0, (n, 3)), rng.standard_normal((n, 3))
        self.inverse = (1 / rng.uniform(2.0, 5.0, (n, 1))).astype(np.float32)
        self.q, self.q_old, self.r, self.r_old, self.e, self.e_old = np.zeros((6, n, 4), np.float32)
        self.s, self.y, self.u = (np.zeros((memory * n, 4), np.float32) for _ in range(3))
        self.state, self.rejected = np.zeros(PAIR_STATE_SIZE), np.zeros(1)
        self.weights = np.zeros(2 * memory)
        judged, products = np.zeros(2 * blocks(n)), np.zeros(blocks(n) * (PRODUCTS * memory + 1))
        sy, yu = np.zeros((2, memory * memory))
        settings = np.array([float(keep), longest, ROUNDING])
        held = {"q": self.q, "q_old": self.q_old, "r": self.r, "r_old": self.r_old}
        self.pressing = np.zeros(2, np.int64)  # the second: contacts have renewed their forces
        made = {**held, "e": self.e, "e_old": self.e_old, "s": self.s, "u": self.u, "state": self.state}
        numbers = {"partial": products, "state": self.state, "pressing": self.pressing}
        self._before = [
            judge_blocks.over(0, n, **held, partial=judged, grain=BLOCK),
            judge.over(0, 1, partial=judged, state=self.state, settings=settings, rejected=self.rejected, serial=True),
            take_back.over(0, n, **held, state=self.state),
        ]
        self._after = [
            pair_products.over(0, n, **{**made, **numbers}, y=self.y, grain=BLOCK),
            recursion.over(0, 1, **numbers, sy=sy, yu=yu, weights=self.weights, serial=True),
            quasi_newton_step.over(0, n, **made, weights=self.weights, grain=BLOCK),
        ]
        self.pairs = deque(maxlen=memory)

    def iterate(self, k, residual=None):
        """One iteration; returns the step that was taken and the twin's. `residual`: instead of the function's own."""
        wide = self.q[:, :3].astype(np.float64)
        if residual is None:
            residual = self.right - self.stiffness * wide - 0.3 * wide**3
        self.r[:, :3] = residual
        came_from, was = self.q_old[:, :3].astype(np.float64), self.r_old[:, :3].astype(np.float64)
        Plan(self._before, self.threads).run(1, first=k)
        self.e[:] = self.inverse * self.r
        if k > 0 and (self.state[REJECTED] or self.pressing[1]):
            self.pairs.clear()
        elif k > 0:
            s, y = self.q[:, :3] - came_from, was - self.r[:, :3]
            self.pairs.append((s, y))
            if np.sum(s * y) <= 0:
                self.pairs.clear()
        Plan(self._after, self.threads).run(1, first=k)
        residual = self.r[:, :3].astype(np.float64)
        twin = two_loops(self.pairs, lambda x: self.inverse * x, residual)
        if np.sum(twin * residual) > FARTHEST * np.sum(self.inverse * residual**2):
            self.pairs.clear()
            twin = self.inverse * residual
        return self.q[:, :3].astype(np.float64) - self.q_old[:, :3], twin


def check_step(step, twin, tolerance=2e-4):
    """Pairs of differences of float32 vectors: their last digits are noise, which quotients of small steps magnify."""
    assert np.linalg.norm(step - twin) <= tolerance * np.linalg.norm(twin)


@pytest.mark.parametrize("n", [20, 1200])
@pytest.mark.parametrize("memory", [1, 2, 3, 5, 20])
def test_directions_are_those_of_the_two_loops(memory, n):
    """Also after the ring of pairs has been written over, and with steps that differ from the plain correction."""
    problem = Pairs(n, memory=memory)
    for k in range(8):
        step, twin = problem.iterate(k)
        assert problem.state[COUNT] == min(k, memory)
        check_step(step, twin)
        if k > 0:
            assert np.linalg.norm(step - problem.e_old[:, :3]) > 0.01 * np.linalg.norm(step)
    assert problem.state[REJECTIONS] == 0


def test_pairs_are_forgotten_when_contacts_renew_their_forces():
    """The problem is another: that step is the plain correction, and pairs begin anew after it."""
    problem = Pairs(60, memory=3)
    for k in range(7):
        problem.pressing[1] = k == 4
        step, twin = problem.iterate(k)
        assert problem.state[COUNT] == (0, 1, 2, 3, 0, 1, 2)[k]
        check_step(step, twin)
    assert problem.state[REJECTIONS] == 0


def test_the_ring_is_written_over_many_times():
    """Twenty pairs that fall as one goes down a valley, two kept: from random, always convex data."""
    n, problem = 50, Pairs(50, memory=2)
    rng, full = np.random.default_rng(7), 0
    problem.iterate(0)
    for k in range(1, 20):
        step = (problem.q - problem.q_old)[:, :3].astype(np.float64)
        curvature = rng.uniform(0.2, 3.0, (n, 3))
        residual = problem.r_old[:, :3] - curvature * step  # y = curvature s: s·y > 0
        if np.sum((residual + problem.r_old[:, :3]) * step) < 0:
            residual = problem.r_old[:, :3] - 0.5 * np.sum(problem.r_old[:, :3] * step) / np.sum(step**2) * step
        taken, twin = problem.iterate(k, residual)
        assert problem.state[REJECTED] == 0
        assert problem.state[COUNT] == len(problem.pairs)
        full += len(problem.pairs) == 2
        check_step(taken, twin)
    assert full > 12


def test_a_step_that_raises_the_energy_is_taken_back():
    """q and r are those of before, the pairs are gone, and the plain correction is taken; later pairs count again."""
    problem = Pairs(60, memory=3)
    for k in range(4):
        problem.iterate(k)
    q_old, r_old = problem.q_old.copy(), problem.r_old.copy()
    step, _ = problem.iterate(4, residual=-3.0 * r_old[:, :3])
    assert (problem.state[REJECTED], problem.state[REJECTIONS], problem.state[COUNT]) == (1, 1, 0)
    assert problem.rejected[0] == 0  # the pairs were wrong, not the correction
    assert problem.state[SCALE] == 1.0
    np.testing.assert_array_equal(problem.q_old, q_old)
    np.testing.assert_array_equal(problem.r_old, r_old)
    np.testing.assert_array_equal(problem.q, q_old + problem.inverse * r_old)
    for k in (5, 6):
        step, twin = problem.iterate(k)
        check_step(step, twin)
    assert problem.state[COUNT] == 2


def test_a_plain_correction_that_raises_the_energy_is_halved():
    """No pairs to blame: the rejection is told, and half the correction taken, then a quarter."""
    problem = Pairs(60, memory=3, longest=0.8)
    step, _ = problem.iterate(0)
    np.testing.assert_allclose(step, 0.8 * problem.e[:, :3], rtol=0, atol=4 * EPS32)
    assert problem.rejected[0] == 0
    r_old = problem.r_old[:, :3].copy()
    for k, scale in ((1, 0.4), (2, 0.2)):
        step, _ = problem.iterate(k, residual=-5.0 * r_old)
        assert problem.rejected[0] == 1
        np.testing.assert_allclose(step, scale * problem.e[:, :3], rtol=0, atol=4 * EPS32)
        np.testing.assert_array_equal(problem.r_old[:, :3], r_old)
    assert problem.state[REJECTIONS] == 2


def test_residuals_that_are_not_numbers_are_rejected():
    problem = Pairs(60, memory=3)
    problem.iterate(0)
    bad = np.ones((60, 3))
    bad[7, 1] = np.nan
    problem.iterate(1, residual=bad)
    assert problem.state[REJECTED] == 1
    assert np.isfinite(problem.q).all()


def test_a_concave_pair_is_forgotten_with_all_others():
    """s·y <= 0: the energy falls, so the step stays, but its curvature says nothing; the next step is plain."""
    problem = Pairs(60, memory=3)
    for k in range(3):
        problem.iterate(k)
    step, _ = problem.iterate(3, residual=2.0 * problem.r_old[:, :3])
    assert (problem.state[REJECTED], problem.state[COUNT]) == (0, 0)
    np.testing.assert_allclose(step, problem.e[:, :3], rtol=0, atol=4 * EPS32)


@pytest.mark.parametrize(("left", "believed"), [(0.98, True), (0.995, False), (1 - 1e-7, False)])
def test_a_pair_that_tells_of_nearly_no_curvature_is_not_believed(left, believed):
    """A step e that leaves the share c of r asks for 1 ÷ (1 - c) of e: fifty are believed, two hundred are not."""
    problem = Pairs(1200, memory=1)
    e = problem.iterate(0)[0]
    step, twin = problem.iterate(1, residual=left * problem.r_old[:, :3].astype(np.float64))
    assert problem.state[COUNT] == believed
    assert problem.state[REJECTIONS] == 0
    check_step(step, twin)
    if believed:
        assert np.linalg.norm(step) > 3 * np.linalg.norm(e)


@pytest.mark.parametrize("keep", [True, False])
def test_pairs_are_kept_from_step_to_step_when_asked_for(keep):
    """Iteration 0 of the next step uses them as they are, and makes no pair across the two."""
    problem = Pairs(60, memory=3, keep=keep)
    for k in range(5):
        problem.iterate(k)
    problem.right = np.random.default_rng(1).standard_normal((60, 3))
    if not keep:
        problem.pairs.clear()
    for k in range(3):
        step, twin = problem.iterate(k)
        assert problem.state[COUNT] == (3 if keep else k)
        check_step(step, twin)


def test_the_judgement_is_the_trapezium_rule():
    """ε(q + d) - ε(q) = -(r_old + r)·d/2 for a quadratic: on both sides of the sign, to a thousandth of r_old·d."""
    for share, rejected in ((-0.99, 0), (-1.0005, 0), (-1.01, 1)):
        problem = Pairs(700, memory=2)
        problem.iterate(0)
        d, r = (problem.q - problem.q_old)[:, :3].astype(np.float64), problem.r_old[:, :3].astype(np.float64)
        along = np.sum(r * d)
        problem.iterate(1, residual=share * along / np.sum(d * d) * d)
        assert problem.state[REJECTED] == rejected


def test_threads_do_not_change_a_bit():
    """Products are made in blocks that no chunk cuts."""
    found = []
    for threads in (1, 2, 3):
        pairs = Pairs(3000, memory=3, threads=threads)
        for k in range(5):
            pairs.iterate(k)
        found.append(pairs.q.tobytes())
    assert found[0] == found[1] == found[2]
