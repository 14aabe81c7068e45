"""Chebyshev's weights and polynomials, and conjugate gradients, each against its textbook form in float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from numpy.polynomial.chebyshev import chebval

from kernel_twins import EPS32, blocks, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.solvers.projective.kernels.acceleration import (
    ALPHA,
    BLOCK,
    EXACT,
    GAMMA,
    OMEGA,
    RESTARTS,
    RHO,
    STATE_SIZE,
    add_correction,
    chebyshev_step,
    chebyshev_weight,
    conjugate_direction,
    conjugate_length,
    conjugate_products,
    conjugate_step,
    conjugate_weight,
    product_blocks,
)
from vivace.solvers.projective.kernels.linear import residual_of, scale_rows


def chebyshev(k, x):
    """C_k(x)."""
    return chebval(x, np.eye(k + 1)[k])


# --- Chebyshev ------------------------------------------------------------------------------------------------------


class Weights:
    """The weights alone, one iteration after the other; `size` is r·e."""

    def __init__(self, rho, delay=0, gamma=1.0, watch=False):
        self.state, self.partial = np.zeros(STATE_SIZE), np.zeros(2)
        self.settings = np.array([rho, delay, gamma, float(watch), gamma])
        own = {"partial": self.partial, "state": self.state, "settings": self.settings}
        self._plan = Plan([chebyshev_weight.over(0, 1, **own, serial=True)], 1)

    def next(self, k, size=1.0):
        self.partial[:] = 0.25 * size, 0.75 * size  # it is added up from blocks
        self._plan.run(1, first=k)
        return self.state[OMEGA]


@pytest.mark.parametrize("delay", [0, 1, 2, 7])
@pytest.mark.parametrize("rho", [0.05, 0.5, 0.9, 0.99, 0.9999])
def test_weights_are_quotients_of_chebyshev_polynomials(rho, delay):
    """ω_(k+1) = 2 C_k(1/ρ) / (ρ C_(k+1)(1/ρ)) for k >= 1, after max(1, S) iterations with ω = 1."""
    weights = Weights(rho, delay)
    plain = max(1, delay)
    found = [weights.next(k) for k in range(plain + 40)]
    assert found[:plain] == [1.0] * plain
    for k, omega in enumerate(found[plain:], start=1):
        assert omega == pytest.approx(2 * chebyshev(k, 1 / rho) / (rho * chebyshev(k + 1, 1 / rho)), rel=1e-12)
    assert found[plain] == 2 / (2 - rho**2)
    if rho < 0.95:
        assert found[-1] == pytest.approx(2 / (1 + np.sqrt(1 - rho**2)), rel=1e-9)  # where they settle


def test_no_rho_is_no_acceleration():
    weights = Weights(0.0)
    assert [weights.next(k) for k in range(5)] == [1.0] * 5


class Linear:
    """Y q = b for a random matrix, sparse and symmetric; three right-hand sides."""

    def __init__(self, n, seed=0, omega=1.0):
        rng = np.random.default_rng(seed)
        pairs = np.array([[i, (i + step) % n] for i in range(n) for step in (1, 7) if (i + step) % n != i])
        values = rng.uniform(0.2, 2.0, len(pairs))
        half = sp.coo_array((values, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        off = sp.csr_array(half + half.T)
        self.n, self.at, self.j = n, off.indptr.astype(np.int32), off.indices.astype(np.int32)
        self.a, self.tie = off.data.astype(np.float32), rng.uniform(0.05, 0.5, n).astype(np.float32)
        off = sp.csr_array((self.a.astype(np.float64), self.j, self.at), shape=(n, n))
        self.diagonal = self.tie + off.sum(axis=1)
        self.matrix = sp.csr_array(sp.diags_array(self.diagonal) - off)
        self.b = to_rows(rng.standard_normal((n, 3)))
        self.q, self.r, self.e = (np.zeros((n, 4), np.float32) for _ in range(3))
        self.exact = spl.spsolve(self.matrix.tocsc(), self.b[:, :3].astype(np.float64))
        self.rows = {"row_at": self.at, "j": self.j, "a": self.a, "tie": self.tie}
        scale = {"inverse": (1 / self.diagonal).astype(np.float32), "omega": np.array([omega], np.float32)}
        self.jacobi = [
            residual_of.over(0, n, **self.rows, r=self.b, e=self.q, left=self.r),
            scale_rows.over(0, n, **scale, r=self.r, e=self.e),
        ]

    @property
    def error(self):
        return self.q[:, :3] - self.exact


def chebyshev_phases(problem, rho, delay=0, gamma=1.0, watch=False):
    state, partial = np.zeros(STATE_SIZE), np.zeros(blocks(problem.n))
    settings = np.array([rho, delay, gamma, float(watch), gamma])
    old, best = np.zeros((2, problem.n, 4), np.float32)
    step = {"q": problem.q, "e": problem.e, "old": old, "best": best, "state": state, "settings": settings}
    return state, [
        product_blocks.over(0, problem.n, x=problem.e, y=problem.r, partial=partial, state=state, grain=BLOCK),
        chebyshev_weight.over(0, 1, partial=partial, state=state, settings=settings, serial=True),
        chebyshev_step.over(0, problem.n, **step),
    ]


@pytest.mark.parametrize(("rho", "delay"), [(0.6, 0), (0.95, 0), (0.95, 1), (0.95, 4), (0.3, 2)])
def test_the_iteration_is_chebyshevs_polynomial_in_the_plain_one(rho, delay):
    """After k iterations a mode of eigenvalue x of the plain iteration is left by x^(S-1) C_m(x/ρ)/C_m(1/ρ).

    m = k - S + 1, S = max(1, delay). Eigenvalues beyond ρ are there as well: the formula holds for all.
    """
    k, n = 12, 40
    problem = Linear(n)
    _, phases = chebyshev_phases(problem, rho, delay)
    Plan([*problem.jacobi, *phases], 1).run(k)
    root = np.sqrt(problem.diagonal)[:, None]
    values, vectors = np.linalg.eigh(np.eye(n) - problem.matrix.toarray() / (root * root.T))
    plain = max(1, delay)
    m = k - plain + 1
    left = values ** (plain - 1) * chebyshev(m, values / rho) / chebyshev(m, 1 / rho)
    expected = (vectors * left) @ vectors.T @ (root * -problem.exact) / root
    assert np.abs(values).max() > rho or rho == 0.95
    # float32 iterates: each of k iterations rounds q, and the polynomial of what follows makes no mode much larger
    growth = max(1.0, np.abs(left).max())
    np.testing.assert_allclose(problem.error, expected, rtol=0, atol=10 * k * growth * EPS32 * np.abs(problem.q).max())


def test_chebyshev_beats_the_plain_iteration_at_its_spectral_radius():
    """With ρ the spectral radius, k iterations leave at most 1/C_k(1/ρ) of the error in the norm of Y^½…D^½."""
    n, k = 200, 40
    problem, plain = Linear(n), Linear(n)
    root = np.sqrt(problem.diagonal)[:, None]
    rho = float(np.abs(np.linalg.eigvalsh(np.eye(n) - problem.matrix.toarray() / (root * root.T))).max())
    _, phases = chebyshev_phases(problem, rho)
    Plan([*problem.jacobi, *phases], 1).run(k)
    Plan([*plain.jacobi, add_correction.over(0, n, q=plain.q, e=plain.e)], 1).run(k)
    left = np.linalg.norm(root * problem.error) / np.linalg.norm(root * problem.exact)
    assert left <= 1 / chebyshev(k, 1 / rho) + 1e-5
    assert np.linalg.norm(root * plain.error) > 3 * np.linalg.norm(root * problem.error)


def test_under_relaxation_shortens_every_correction():
    """γ = 1/2 with ρ = 0 is half of every correction."""
    problem, half = Linear(40), Linear(40)
    _, phases = chebyshev_phases(problem, 0.0, gamma=0.5)
    Plan([*problem.jacobi, *phases], 1).run(5)
    for _ in range(5):
        Plan(half.jacobi, 1).run()
        half.q += np.float32(0.5) * half.e
    np.testing.assert_allclose(problem.q, half.q, rtol=0, atol=4 * EPS32)


def test_a_rising_residual_halves_the_acceleration():
    """size > that of the start: 1 - ρ doubles, the recurrence begins anew; below 1/2 ρ is given up, then γ halves."""
    weights = Weights(0.9, delay=3, watch=True)
    for k in range(6):
        weights.next(k, size=1.0 - 0.1 * k)
    for k, rho, gamma in (
        (6, 0.8, 1.0),
        (8, 0.6, 1.0),
        (10, 0.2, 1.0),
        (12, 0.0, 1.0),
        (14, 0.0, 0.5),
        (16, 0.0, 0.25),
    ):
        weights.next(k, size=2.0)
        assert weights.state[RHO] == pytest.approx(rho)
        assert weights.state[GAMMA] == gamma
        assert weights.next(k + 1, size=0.5) == 1.0  # plain again, without the delay
    assert weights.state[RESTARTS] == 6


def test_a_residual_that_is_not_a_number_is_a_rising_one():
    weights = Weights(0.9, watch=True)
    weights.next(0)
    weights.next(1, size=np.nan)
    assert weights.state[RHO] == pytest.approx(0.8)
    assert weights.state[RESTARTS] == 1


def test_the_level_after_a_restart_is_that_of_the_best_iterate():
    """Back at the best iterate, nothing above it counts as progress any more."""
    weights = Weights(0.99, watch=True)
    for k, size in enumerate((1.0, 0.3, 0.6)):
        weights.next(k, size)
    assert weights.state[RESTARTS] == 0  # 0.6 is below the start's 1
    weights.next(3, 1.1)
    weights.next(4, 0.3)
    weights.next(5, 0.31)
    assert weights.state[RESTARTS] == 2


def test_from_step_to_step_the_weights_recover():
    """1 - ρ shrinks by a fifth and γ grows by a tenth a step, up to what was asked for; the count begins at zero."""
    weights = Weights(0.9, watch=True)
    weights.next(0)
    weights.next(1, size=5.0)
    assert weights.state[RHO] == pytest.approx(0.8)
    found = []
    for _ in range(5):
        weights.next(0)
        found.append(weights.state[RHO])
        assert weights.state[RESTARTS] == 0
    np.testing.assert_allclose(found, [1 - 0.2 * 0.8, 1 - 0.2 * 0.8**2, 1 - 0.2 * 0.8**3, 0.9, 0.9])
    weights.state[GAMMA] = 0.25
    weights.next(0)
    assert weights.state[GAMMA] == pytest.approx(0.275)


def test_watching_restores_the_best_iterate():
    """After a restart q is the iterate with the smallest r·e so far, and the next step looks back to it alone."""
    problem = Linear(40, omega=1.3)  # overshoots its roughest modes, which Chebyshev's polynomial then magnifies
    state, phases = chebyshev_phases(problem, 0.9, delay=3, watch=True)
    plan = Plan([*problem.jacobi, *phases], 1)
    best, smallest, k = None, np.inf, 0
    while state[RESTARTS] == 0:
        before = problem.q.copy()
        plan.run(1, first=k)
        size = float(np.sum(problem.e.astype(np.float64) * problem.r))
        if size < smallest:
            best, smallest = before, size
        k += 1
        assert k < 100
    assert k > 3
    np.testing.assert_array_equal(problem.q, best)
    Plan(problem.jacobi, 1).run()
    expected = best + problem.e
    plan.run(1, first=k)
    np.testing.assert_allclose(problem.q, expected, rtol=0, atol=2 * EPS32 * np.abs(best).max())


# --- conjugate gradients --------------------------------------------------------------------------------------------


def conjugate_phases(problem):
    n = problem.n
    p, state = np.zeros((n, 4), np.float32), np.zeros(STATE_SIZE)
    one, two = np.zeros(blocks(n)), np.zeros(2 * blocks(n))
    return state, [
        product_blocks.over(0, n, x=problem.e, y=problem.r, partial=one, state=state, grain=BLOCK),
        conjugate_weight.over(0, 1, partial=one, state=state, serial=True),
        conjugate_direction.over(0, n, e=problem.e, p=p, state=state),
        conjugate_products.over(0, n, **problem.rows, r=problem.r, p=p, partial=two, state=state, grain=BLOCK),
        conjugate_length.over(0, 1, partial=two, state=state, serial=True),
        conjugate_step.over(0, n, q=problem.q, p=p, state=state),
    ]


@pytest.mark.parametrize("n", [30, 1300])  # less than a block, and more than two
@pytest.mark.parametrize("k", [1, 2, 3, 6, 10])
def test_iterates_are_those_of_scipys_conjugate_gradients(n, k):
    """On a linear system with Jacobi as preconditioner: the three coordinates are one vector of 3n unknowns."""
    problem = Linear(n)
    _, phases = conjugate_phases(problem)
    Plan([*problem.jacobi, *phases], 1).run(k)
    together = sp.csr_array(sp.kron(problem.matrix, sp.eye_array(3)))
    preconditioner = sp.diags_array(np.repeat(1 / problem.diagonal, 3))
    right = problem.b[:, :3].astype(np.float64).ravel()
    iterates = []
    spl.cg(together, right, rtol=0, atol=0, maxiter=k, M=preconditioner, callback=lambda x: iterates.append(x.copy()))
    expected = iterates[-1].reshape(-1, 3)
    assert len(iterates) == k
    np.testing.assert_allclose(problem.q[:, :3], expected, rtol=0, atol=3e-6 * k * np.abs(expected).max())


def test_nothing_to_do_is_no_step():
    """r = 0: p·Yp = 0, and α must not be 0/0."""
    problem = Linear(30)
    problem.b[:] = 0
    state, phases = conjugate_phases(problem)
    Plan([*problem.jacobi, *phases], 1).run(3)
    assert state[ALPHA] == 0.0
    assert not problem.q.any()


def test_exact_corrections_are_taken_whole():
    """With the flag set q += e, to the bit, in every iteration."""
    problem = Linear(700)
    state, phases = conjugate_phases(problem)
    state[EXACT] = 1.0
    rng = np.random.default_rng(3)
    for k in range(3):
        problem.e[:] = rng.standard_normal((700, 4))
        before = problem.q.copy()
        Plan(phases, 1).run(1, first=k)
        np.testing.assert_array_equal(problem.q, before + problem.e)


@pytest.mark.slow
def test_threads_do_not_change_a_bit():
    """Sums over vertices are made in blocks that no chunk cuts."""
    found = []
    for threads in (1, 2, 3):
        first, second = Linear(3000), Linear(3000)
        _, phases = conjugate_phases(first)
        Plan([*first.jacobi, *phases], threads).run(5)
        _, phases = chebyshev_phases(second, 0.9, watch=True)
        Plan([*second.jacobi, *phases], threads).run(5)
        found.append(first.q.tobytes() + second.q.tobytes())
    assert found[0] == found[1] == found[2]
