"""Constraints that are solved four at a time against those solved one by one. Tolerances: see `positional_twins`."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32
from solvers.position_based.kernels.positional_twins import FAST, MODES, Case
from vivace.backends.cpu.arguments import GRAIN
from vivace.constraints import CONSTRAINTS
from vivace.solvers.position_based.kernels.positional import fast_kernel
from vivace.solvers.position_based.kernels.positional_wide import WIDE

WIDE_KINDS = [name for name in FAST if CONSTRAINTS[name].gradients in WIDE]
APART = 23  # five times four, and three


def no_shared_vertices(name):
    """As many constraints as `APART` of which no two share a vertex, their vertices all over the place."""
    rng = np.random.default_rng(9)
    base = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 0, 1], [0.6, 0, -1]])[: CONSTRAINTS[name].vertices]
    rest = base + 0.2 * rng.normal(size=(APART, *base.shape)) * [1, name == "curved-hinge", 1]
    vertices = rng.permutation(rest[..., 0].size).reshape(rest.shape[:2])
    out = np.empty((vertices.size, 3))
    out[vertices.ravel()] = rest.reshape(-1, 3)
    return out, vertices


class Wide(Case):
    """The same, its arrays padded to whole rows."""

    def __init__(self, name, mode):
        super().__init__(name, mode, mesh=no_shared_vertices)
        room = -(-APART // GRAIN) * GRAIN
        for array in ("vertices", "parameters", "operator", "soft", "lambdas"):
            old = getattr(self, array)
            setattr(self, array, np.concatenate([old, np.zeros((room - APART) * (len(old) // APART), old.dtype)]))

    def visit(self):
        self.in_place(0, APART, fast_kernel(self.kind.gradients, self.k, by_vertex=False, coloured=True))


def test_some_constraints_are_solved_four_at_a_time():
    assert {"spring", "hinge"} <= set(WIDE_KINDS)


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", WIDE_KINDS)
def test_four_at_a_time(name, mode):
    """What one by one gives, for whole fours and for the rest of a colour; Σ (C + α λ)²; thrice, so that λ ≠ 0."""
    case = Wide(name, mode)
    for _ in range(3):
        q, old = case.q.copy(), case.lambdas.copy()
        case.visit()
        met = loose = 0.0
        for number in range(APART):
            value, delta, slack = case.delta(number, q, old[number] if case.compliant else 0.0)
            corners = case.group.vertices[number]
            w = q[corners, 3:].astype(np.float64)
            expected = q[corners, :3] + w * delta * value.g
            tolerance = EPS32 * np.abs(q[corners, :3]).max() + w * value.reach[:, None] * slack
            assert (np.abs(case.q[corners, :3] - expected) <= tolerance).all()
            if case.compliant:
                assert abs(case.lambdas[number] - (old[number] + delta)) <= slack + EPS32 * abs(old[number])
            square, slack = case.square(number, value, old[number])
            met, loose = met + square, loose + slack
        assert abs(case.sums.sum() - met) <= loose
        np.testing.assert_array_equal(case.q[:, 3], q[:, 3])
        np.testing.assert_array_equal(case.lambdas[APART:], 0)


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", WIDE_KINDS)
@pytest.mark.parametrize("place", ["apart", "in one point"])
@pytest.mark.parametrize("pinned", ["none", "some", "all"])
def test_four_at_a_time_without_mass_or_length(name, mode, place, pinned):
    """Pinned vertices stay to the bit, wherever they are; vertices in one point have no direction; no NaN."""
    case = Wide(name, mode)
    held = {"none": np.zeros(case.n, bool), "some": case.rng.random(case.n) < 0.5, "all": np.ones(case.n, bool)}[pinned]
    case.q[held, 3] = 0.0
    if place == "in one point":
        case.q[:, :3] = 0.25
    q = case.q.copy()
    for _ in range(2):
        case.visit()
    assert np.isfinite(case.q).all()
    assert np.isfinite(case.lambdas).all()
    np.testing.assert_array_equal(case.q[held], q[held])
