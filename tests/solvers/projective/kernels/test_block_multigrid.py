"""Sweeps over block matrices, products, the coarsest level, conjugate gradients: against dense float64 arithmetic."""

import numpy as np
import pytest

from kernel_twins import EPS32, blocks, to_rows
from solvers.projective.kernels.block_twins import Problem, close, dense, flat, run, symmetric, unturned
from vivace.solvers.projective.kernels import block_multigrid as multigrid
from vivace.solvers.projective.kernels.acceleration import ALPHA, BETA, OLD_PRODUCT, STATE_SIZE


@pytest.fixture(params=["turned", "wrapped"])
def problem(request):
    return Problem(request.param)


def test_sweeps(problem):
    """(D + L) e = r, then -U e, then (D + U) e' = r - L e."""
    n = problem.n
    blocked = np.kron(np.arange(n), np.ones(3)).astype(int)
    lower = np.where(blocked[:, None] >= blocked[None, :], problem.matrix, 0)
    upper = problem.matrix - lower
    problem.run(problem.kernel("forward"))
    e = flat(problem.e)
    expected = np.linalg.solve(lower, flat(problem.r))
    close(lower @ e, flat(problem.r), lower, e)
    np.testing.assert_allclose(e, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    problem.run(problem.kernel("left"))
    close(flat(problem.left), -upper @ e, upper, e)
    assert (problem.left[:, 3] == 0).all()
    problem.run(problem.kernel("backward"))
    strict = np.where(blocked[:, None] > blocked[None, :], problem.matrix, 0)
    after = flat(problem.e)
    close((problem.matrix - strict) @ after, flat(problem.r) - strict @ e, problem.matrix, after)
    assert (problem.e[:, 3] == 0).all()


@pytest.mark.parametrize("touching", [False, True])
def test_products(problem, touching):
    """H p with scalar ties, and on top the slots: (s I + u uᵀ) p_i of contacts that hold vertex i alone."""
    p, hp, partial = problem.e, np.zeros_like(problem.e), np.zeros(2 * blocks(problem.n))
    slot_at, slots = np.zeros(problem.n + 1, np.int32), np.zeros((1, 4), np.float32)
    full = dense(problem.at, problem.j, problem.pairs, problem.tie[:, None, None] * np.eye(3))
    if touching:
        owner = np.repeat(np.arange(problem.n), np.diff(problem.slot_at))
        slot_at, slots = problem.slot_at, to_rows(np.einsum("kab,kb->ka", unturned(problem.slots), p[owner, :3]))
        full = problem.matrix
    arrays = {"tie": problem.tie, "p": p, "hp": hp, "partial": partial, "slot_at": slot_at, "slots": slots}
    problem.run(problem.kernel("product"), **arrays)
    close(flat(hp), full @ flat(p), np.abs(full), np.abs(flat(p)))
    assert (hp[:, 3] == 0).all()
    scale = np.abs(flat(p)) @ np.abs(full) @ np.abs(flat(p))
    assert partial[1::2].sum() == pytest.approx(flat(p) @ full @ flat(p), abs=100 * EPS32 * scale)
    assert partial[0::2].sum() == pytest.approx(flat(p) @ flat(problem.r), abs=100 * EPS32 * 3 * problem.n)


@pytest.mark.parametrize("positive", [True, False])
def test_the_coarsest_level(positive):
    """A x = r with factors; where the matrix has none, what a forward and a backward sweep make of it."""
    problem = Problem("wrapped", n=12)
    size = 3 * problem.n
    if not positive:
        problem.ties[0::2, :3] = -50.0
    scales = np.zeros(size + 1)
    own = {"lower": np.zeros(size * size), "scales": scales, "room": np.zeros(size)}
    problem.run(multigrid.factor_dense, 1, ties=problem.ties, **own)
    assert scales[size] == float(positive)
    problem.run(multigrid.solve_dense, 1, **own)
    if positive:
        full = dense(problem.at, problem.j, problem.pairs, symmetric(problem.ties))
        expected = np.linalg.solve(0.5 * (full + full.T), flat(problem.r))
        np.testing.assert_allclose(flat(problem.e), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        return
    found, problem.e[:] = problem.e.copy(), 0
    for kernel in (multigrid.forward_wrapped, multigrid.backward_wrapped):
        problem.run(kernel)
    np.testing.assert_array_equal(found, problem.e)


def test_conjugate_gradients_on_numbers():
    """α = p·r / p·Hp and β = z·r / (z·r of before); nothing is added where a product has the wrong sign."""
    state = np.zeros(STATE_SIZE)
    run(multigrid.newton_weight, 1, partial=np.array([2.0, 1.0]), state=state)
    assert (state[BETA], state[OLD_PRODUCT], state[multigrid.BROKEN]) == (0, 3, 0)
    run(multigrid.newton_length, 1, partial=np.array([1.0, 4.0, 1.0, 4.0]), state=state)
    assert state[ALPHA] == 0.25
    run(multigrid.newton_weight, 1, partial=np.array([0.5, 0.25]), state=state, iteration=1)
    assert state[BETA] == 0.25
    for lengths in ([1.0, -1.0], [-1.0, 1.0], [np.nan, 1.0], [1.0, 0.0]):
        state[multigrid.BROKEN] = 0
        run(multigrid.newton_length, 1, partial=np.array(lengths), state=state)
        assert (state[ALPHA], state[multigrid.BROKEN]) == (0, 1)
    q, q_old, d, left, p, hp = (to_rows(np.full((3, 3), float(k))) for k in range(6))
    step = {"q": q, "q_old": q_old, "d": d, "left": left, "p": p, "hp": hp, "state": state}
    run(multigrid.newton_step, 3, **step)
    assert (d == to_rows(np.full((3, 3), 2.0))).all()
    state[multigrid.BROKEN], state[ALPHA] = 0, 0.5
    run(multigrid.newton_step, 3, **step)
    assert (d[:, :3] == 4).all()
    assert (left[:, :3] == 0.5).all()
    assert (q[:, :3] == 5).all()
    run(multigrid.shorten, 3, q=q, q_old=q_old, d=d, share=np.array([0.5], np.float32))
    assert (q[:, :3] == 3).all()
    d[:] = np.nan
    run(multigrid.shorten, 3, q=q, q_old=q_old, d=d, share=np.zeros(1, np.float32))
    np.testing.assert_array_equal(q, q_old)
