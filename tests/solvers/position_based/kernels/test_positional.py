"""The passes of position based dynamics, constraint by constraint, against C and ∇C written out in float64.

A Gauss-Seidel pass is run one constraint at a time, so that the twin reads what the kernel has read and no error is
carried along; that the whole pass is those single visits is checked to the bit. Tolerances: see `positional_twins`.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32
from solvers.position_based.kernels.positional_twins import FAST, KINDS, MODES, Case
from vivace.backends.cpu.arguments import GRAIN
from vivace.backends.cpu.executor import Plan
from vivace.constraints import CONSTRAINTS
from vivace.solvers.position_based.kernels.steps import (
    apply_steps,
    clear_steps,
    gather_steps,
    load_positions,
    store_positions,
    watch_violation,
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
def test_in_place(name, mode):
    """x_k ← x_k + w_k Δλ ∇_k C, λ ← λ + Δλ, for one constraint after the other; twice, so that λ is not zero."""
    case = Case(name, mode)
    for number in [*range(case.m), *range(case.m)]:
        q, before = case.q.copy(), float(case.lambdas[number])
        case.in_place(number, number + 1)
        value, delta, slack = case.delta(number, q, before if case.compliant else 0.0)
        corners = case.group.vertices[number]
        w = q[corners, 3:].astype(np.float64)
        expected = q[corners, :3] + w * delta * value.g
        tolerance = EPS32 * np.abs(q[corners, :3]).max() + w * value.reach[:, None] * slack
        assert (np.abs(case.q[corners, :3] - expected) <= tolerance).all()
        others = np.setdiff1d(np.arange(case.n), corners)
        np.testing.assert_array_equal(case.q[others], q[others])
        np.testing.assert_array_equal(case.q[:, 3], q[:, 3])
        if case.compliant:
            assert abs(case.lambdas[number] - (before + delta)) <= slack + EPS32 * abs(before)
        else:
            assert case.lambdas[number] == 0
        square, loose = case.square(number, value, before)
        assert abs(case.sums[number // GRAIN] - square) <= loose + 1e-12


@pytest.mark.parametrize("name", KINDS)
def test_a_pass_is_its_constraints_in_order(name):
    """One chunk over all constraints gives the bits of single visits, and Σ (C + α λ)² of all of them."""
    whole, single = Case(name, "compliance"), Case(name, "compliance")
    whole.in_place(0, whole.m)
    met = 0.0
    for number in range(single.m):
        single.in_place(number, number + 1)
        met += single.sums[number // GRAIN]
    np.testing.assert_array_equal(whole.q, single.q)
    np.testing.assert_array_equal(whole.lambdas, single.lambdas)
    assert whole.sums.sum() == pytest.approx(met, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
def test_into_slots(name, mode):
    """Slot of corner k: share_k w_k Δλ_k ∇_k C, all from the same positions; its own λ grows by share_k Δλ_k."""
    case = Case(name, mode)
    slots, shares = np.zeros((case.m * case.k, 4), np.float32), case.rng.uniform(0.1, 0.5, case.n).astype(np.float32)
    targets = case.rng.permutation(case.m * case.k).astype(np.int32)
    case.settings[2] = 1
    arrays = {**case.table, "targets": targets, "out": slots, "shares": shares}
    arrays |= {"lambdas": case.lambdas, "sums": case.sums}
    q = case.q.copy()
    for _ in range(2):
        old = slots.copy()
        Plan([case.kernel().over(0, case.m, serial=True, **arrays)], 1).run()
        np.testing.assert_array_equal(case.q, q)
        np.testing.assert_array_equal(case.lambdas, 0)
        for number in range(case.m):
            for corner in range(case.k):
                v, slot = case.group.vertices[number, corner], targets[number * case.k + corner]
                before, share, w = float(old[slot, 3]), float(shares[v]), float(q[v, 3])
                value, delta, slack = case.delta(number, q, before if case.compliant else 0.0)
                expected = share * w * delta * value.g[corner]
                assert np.abs(slots[slot, :3] - expected).max() <= share * w * value.reach[corner] * slack
                assert abs(slots[slot, 3] - (before + share * delta)) <= share * slack + EPS32 * abs(before)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
def test_by_vertex(name, mode):
    """The sum of Δλ ∇_v C over the constraints of v, with a λ for each corner; then q_v += ω share w times the sum."""
    case = Case(name, mode)
    flat = np.argsort(case.vertices, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(case.vertices, minlength=case.n))]).astype(np.int32)
    order = case.rng.permutation(case.n).astype(np.int32)
    shares, weights = case.rng.uniform(0.2, 1, case.n).astype(np.float32), np.array([1.0, 1.5], np.float32)
    lambdas, moved, squares = np.zeros(len(flat), np.float32), np.zeros((case.n, 4), np.float32), np.zeros(case.n)
    both = {"order": order, "moved": moved, "shares": shares, "weights": weights}
    arrays = {**case.table, **both, "starts": starts, "incidences": flat, "lambdas": lambdas}
    visit = Plan([case.kernel(by_vertex=True).over(0, case.n, serial=True, **arrays)], 1)
    apply = Plan([apply_steps.over(0, case.n, q=case.q, squares=squares, serial=True, **both)], 1)
    for iteration, omega in enumerate([1.0, 1.5, 1.5]):  # the last of the weights holds for all later iterations
        q, old = case.q.copy(), lambdas.copy()
        visit.run(1, first=iteration)
        np.testing.assert_array_equal(case.q, q)
        sums, tolerance, met, loose = np.zeros((case.n, 3)), np.zeros(case.n), np.zeros(case.n), np.zeros(case.n)
        for v in range(case.n):
            for e in range(starts[v], starts[v + 1]):
                number, corner = divmod(int(flat[e]), case.k)
                value, delta, slack = case.delta(number, q, old[e] if case.compliant else 0.0)
                sums[v] += delta * value.g[corner]
                tolerance[v] += value.reach[corner] * slack + 8 * EPS32 * abs(delta) * value.reach[corner]
                grown = float(old[e]) + omega * float(shares[v]) * delta
                assert abs(lambdas[e] - grown) <= omega * shares[v] * slack + 2 * EPS32 * abs(grown)
                square, slack = case.square(number, value, old[e])
                met[v] += square / case.k
                loose[v] += slack
        assert (np.abs(moved[:, :3] - sums).max(axis=1) <= tolerance).all()
        assert (np.abs(moved[:, 3] - met) <= loose + 8 * EPS32 * met + 1e-12).all()
        steps = moved.copy()
        apply.run(1, first=iteration)
        expected = q[:, :3] + omega * (shares * q[:, 3]).astype(float)[:, None] * steps[:, :3].astype(float)
        np.testing.assert_allclose(case.q[:, :3], expected, rtol=0, atol=4 * EPS32 * np.abs(expected).max())
        np.testing.assert_array_equal(squares, steps[:, 3])
        np.testing.assert_array_equal(moved, 0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", FAST)
def test_the_written_out_form_is_the_general_one(name, mode):
    """C = |z| - l and C = ‖z - p‖ differ in sign at most, so a first visit moves vertices alike: |λ| too."""
    fast, general = Case(name, mode), Case(name, mode, form="any")
    for number in range(fast.m):
        q = fast.q.copy()
        general.q[:] = q
        fast.in_place(number, number + 1)
        general.in_place(number, number + 1)
        value, _, slack = fast.delta(number, q, 0.0)
        corners = fast.group.vertices[number]
        tolerance = EPS32 * np.abs(q).max() + 5 * q[corners, 3:] * value.reach[:, None] * slack
        assert (np.abs(fast.q[corners] - general.q[corners]) <= tolerance).all()
        assert abs(abs(fast.lambdas[number]) - abs(general.lambdas[number])) <= 5 * slack


# --- what cannot move, and what has no direction ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
def test_pinned_vertices_stay_to_the_bit(name, mode):
    case = Case(name, mode)
    pinned = case.rng.random(case.n) < 0.5
    case.q[pinned, 3] = 0.0
    q = case.q.copy()
    for _ in range(3):
        case.in_place(0, case.m)
    np.testing.assert_array_equal(case.q[pinned], q[pinned])
    assert np.isfinite(case.q).all()
    assert (case.q[~pinned] != q[~pinned]).any()


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
def test_nothing_happens_where_nothing_can_move(name, mode):
    """Σ w |∇C|² = 0: no step, and with compliance a finite λ = -C/α."""
    case = Case(name, mode)
    case.q[:, 3] = 0.0
    q = case.q.copy()
    case.in_place(0, case.m)
    np.testing.assert_array_equal(case.q, q)
    expected = [-case.value(c, q).c / case.soft[c] if case.compliant else 0.0 for c in range(case.m)]
    size = np.array([case.value(c, q).size / case.soft[c] for c in range(case.m)])
    assert (np.abs(case.lambdas - expected) <= 2 * case.slack * EPS32 * size).all()


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("where", [0.0, 100.0])
def test_vertices_that_coincide_give_numbers(name, mode, where):
    """All vertices in one point, and two of them: no direction, no NaN, in any of the three ways."""
    for some in (slice(None), slice(0, 2)):
        case = Case(name, mode)
        case.q[some, :3] = where
        for _ in range(3):
            case.in_place(0, case.m)
        assert np.isfinite(case.q).all()
        assert np.isfinite(case.lambdas).all()
        assert np.isfinite(case.sums).all()


def test_a_spring_without_length_stays_where_it_is():
    """Two vertices in one point have no direction to part: Δx = 0 to the bit."""
    case = Case("spring", "stiffness")
    case.q[:, :3] = 0.25
    q = case.q.copy()
    case.in_place(0, case.m)
    np.testing.assert_array_equal(case.q, q)


# --- around the constraints -------------------------------------------------------------------------------------------


def test_positions_come_and_go_with_their_inverse_mass():
    rng = np.random.default_rng(0)
    start, q = rng.normal(size=(37, 4)).astype(np.float32), np.zeros((37, 4), np.float32)
    inverse, out = rng.uniform(0, 1, 37).astype(np.float32), np.ones((37, 4), np.float32)
    loading = load_positions.over(0, 37, start=start, inverse=inverse, q=q)
    Plan([loading, store_positions.over(0, 37, q=q, out=out)], 2).run()
    np.testing.assert_array_equal(q, np.column_stack([start[:, :3], inverse]))
    np.testing.assert_array_equal(out, np.column_stack([start[:, :3], np.zeros(37, np.float32)]))


def test_steps_are_gathered_from_slots():
    """step_v += Σ of its slots, without the fourth lane, which holds λ."""
    rng = np.random.default_rng(1)
    slot_at = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 20))]).astype(np.int32)
    slots = rng.normal(size=(int(slot_at[-1]), 4)).astype(np.float32)
    step = np.ones((20, 4), np.float32)
    gathering = gather_steps.over(0, 20, slot_at=slot_at, slots=slots, step=step)
    Plan([clear_steps.over(0, 20, step=step), gathering, gathering], 1).run()
    for v in range(20):
        own = slots[slot_at[v] : slot_at[v + 1], :3].astype(float)
        size = np.abs(own).sum() + 1e-30
        np.testing.assert_allclose(step[v, :3], 2 * own.sum(axis=0), atol=16 * EPS32 * size)
    np.testing.assert_array_equal(step[:, 3], 0)


def test_the_watch_sets_its_threshold_once():
    """monitor = (Σ C², tolerance² x the first Σ C²)."""
    totals, monitor, tolerance = np.array([3.0, 1.0]), np.array([1.0, 0.0]), np.array([0.1, 0.0])
    history = np.zeros(1 + 2 * 2)
    arrays = {"totals": totals, "monitor": monitor, "limits": tolerance, "history": history}
    watching = watch_violation.over(0, 2, serial=True, **arrays)
    plan = Plan([watching], 1)
    plan.run(1, first=0)
    np.testing.assert_allclose(monitor, [4, 0.04])
    totals[:] = 0.5
    plan.run(1, first=1)
    np.testing.assert_allclose(monitor, [1, 0.04])
    np.testing.assert_array_equal(history, [2, 0, 4, 1, 1])
    tolerance[0], totals[:] = 0.0, 0.0
    plan = Plan([watching], 1, monitor)
    assert plan.run(5) == 5  # without a tolerance nothing is small enough
    np.testing.assert_array_equal(history, [2, 0, 4, 1, 1])


def test_all_built_in_constraints_are_covered():
    """A new built-in constraint of two or more vertices belongs into the list above.

    Not those that are like others: tet-volume like tet-strain; sheets go by the loop of constraints of one's own. Nor
    those that flow, which position based solvers do not take.
    """
    ours = {name for name, kind in CONSTRAINTS.items() if kind.prepare.__module__.startswith("vivace.constraints.")}
    ours -= {name for name, kind in CONSTRAINTS.items() if kind.flow is not None}
    assert ours - {"pin", "tet-volume", "membrane", "plate", "curved-plate"} == set(KINDS)
