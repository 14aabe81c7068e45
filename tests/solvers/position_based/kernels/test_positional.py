"""The passes of position based dynamics, constraint by constraint, against C and ∇C written out in float64.

A Gauss-Seidel pass is run one constraint at a time, so that the twin reads what the kernel has read and no error is
carried along; that the whole pass is those single visits is checked to the bit.

Rounding: C is known to δC = c u S, S the sizes of all that is added up in it, Σ |a_k| |x_k - x_0| + |rest value|; the
direction of ∇C to δC/C. So a vertex lands within u |x| + w |a_k| c u S / (Σ w |∇C|² + α) of where it should. c covers
the operations inside, fewer for the written-out forms than for rotations and angles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32
from vivace.backends.cpu.arguments import GRAIN, Phase
from vivace.backends.cpu.executor import Plan
from vivace.constraints import CONSTRAINTS, make_group
from vivace.constraints.kernels.local import no_projection
from vivace.solvers.position_based.kernels.positional import (
    any_kernel,
    apply_steps,
    clear_steps,
    fast_kernel,
    gather_steps,
    load_positions,
    store_positions,
    watch_violation,
)
from vivace.solvers.position_based.kernels.positional_wide import WIDE

KINDS = ["spring", "hinge", "curved-hinge", "volume", "dihedral", "tet-strain", "weld", "attachment"]
FAST = [name for name in KINDS if CONSTRAINTS[name].gradients is not None]
H = 1 / 30
MODES = {"stiffness": 0.7, "compliance": None}


def rest_of(name):
    """Rest positions and the constraints of a small mesh, which share vertices in every way."""
    if name in ("volume", "tet-strain"):
        mesh = vv.mesh.cube(2, side=1.0)
        return mesh.vertices, mesh.tets
    mesh = vv.mesh.cloth(4, 3, width=1.5, height=1.0, irregular=True)
    rest = mesh.vertices.copy()
    if name in ("curved-hinge", "dihedral"):
        rest[:, 1] = 0.4 * np.sin(3 * rest[:, 0])
    if name in ("spring", "weld"):
        return rest, mesh.edges
    return rest, mesh.hinges


# --- the twin ---------------------------------------------------------------------------------------------------------


@dataclass
class Value:
    """C, its gradients (k, 3), the reach |a_k| of each corner, and the sizes S of what C adds up."""

    c: float
    g: np.ndarray
    reach: np.ndarray
    size: float


def projected(group, number, x):
    """C = ‖A x - p‖, ∇_k C = a_kᵀ (A x - p)/C."""
    a = group.operator[number].astype(np.float32).astype(np.float64)
    z = a @ (x - x[0]) if abs(a.sum(axis=1)).max() < 1e-6 * abs(a).max() else a @ x
    p = np.zeros_like(z)
    if group.kind.project is not None:
        group.kind.project(z.copy(), parameters_of(group, number), p)
    c = float(np.linalg.norm(z - p))
    reach = np.linalg.norm(a, axis=0)
    size = float(reach @ np.linalg.norm(x - x[0], axis=1)) + float(np.linalg.norm(p))
    return Value(c, a.T @ (z - p) / c if c else np.zeros_like(x), reach, size)


def written(group, number, x):
    """What has a form of its own: C signed."""
    name, rest = group.kind.name, parameters_of(group, number)
    if name == "dihedral":
        return evaluated(group, number, x)
    if name == "spring":
        d = x[0] - x[1]
        n = d / np.linalg.norm(d)
        return Value(np.linalg.norm(d) - rest[0], np.stack([n, -n]), np.ones(2), np.linalg.norm(d) + rest[0])
    if name == "volume":
        e1, e2, e3 = x[1:] - x[0]
        g = np.stack([np.cross(e2, e3), np.cross(e3, e1), np.cross(e1, e2)]) / 6
        g = np.vstack([-g.sum(axis=0), g])
        reach = np.linalg.norm(e1) * np.linalg.norm(e2) * np.linalg.norm(e3)
        return Value(np.dot(np.cross(e1, e2), e3) / 6 - rest[0], g, np.linalg.norm(g, axis=1), reach + rest[0])
    a = group.operator[number, 0].astype(np.float32).astype(np.float64)
    v = a @ (x - x[0])
    size = float(np.abs(a) @ np.linalg.norm(x - x[0], axis=1))
    length = np.linalg.norm(v)
    at_rest = rest[0] if name == "curved-hinge" else 0.0
    return Value(length - at_rest, np.outer(a, v / length), np.abs(a), size + at_rest)


def evaluated(group, number, x):
    g = np.zeros_like(x)
    c = float(group.kind.evaluate(x, parameters_of(group, number), g))
    size = np.linalg.norm(g, axis=1) @ np.linalg.norm(x - x[0], axis=1) + abs(parameters_of(group, number)[0])
    return Value(c, g, np.linalg.norm(g, axis=1), float(size))


def parameters_of(group, number):
    return group.parameters[number].astype(np.float32).astype(np.float64)


def step_of(value, w, soft, before, kappa, compliant):
    """Δλ [fratarcangeli2013, Eq. 6; macklin2016, Eq. 18], and the denominator."""
    weight = float(w @ (value.g**2).sum(axis=1))
    if compliant:
        return -(value.c + soft * before) / (weight + soft), weight + soft
    return (-kappa * value.c / weight, weight) if weight > 0 else (0.0, np.inf)


# --- the kernels ------------------------------------------------------------------------------------------------------


class Case:
    """A deformed mesh with random masses, a pinned vertex, and the arrays of a pass over its constraints."""

    def __init__(self, name, mode, *, form=None, seed=0, disturbed=0.05, mesh=rest_of):
        self.rng = np.random.default_rng(seed)
        rest, vertices = mesh(name)
        self.group = make_group(name, rest, vertices, self.rng.uniform(50, 500, len(vertices)))
        self.kind, self.m, self.k, self.n = self.group.kind, len(vertices), self.group.kind.vertices, len(rest)
        self.kappa, self.compliant = MODES[mode] or 1.0, MODES[mode] is None
        self.form = form or ("fast" if self.kind.gradients is not None else "any")
        self.slack = 16 if self.form == "fast" and name != "dihedral" else 64
        self.q = twins.to_rows(rest + disturbed * self.rng.normal(size=rest.shape))
        self.q[:, 3] = self.rng.uniform(0.5, 20, self.n)
        self.q[self.n // 2, 3] = 0.0
        self.vertices = np.ascontiguousarray(self.group.vertices).ravel()
        self.parameters = self.group.parameters.astype(np.float32).ravel()
        self.operator = self.group.operator.astype(np.float32).ravel()
        self.soft = (1 / (self.group.weights * H**2)).astype(np.float32)
        self.lambdas = np.zeros(self.m, np.float32)
        self.sums = np.zeros(self.m // GRAIN + 1)
        self.settings = np.array([self.kappa, self.compliant, 0], np.float32)

    def kernel(self, by_vertex=False):
        if self.form == "fast":
            return fast_kernel(self.kind.gradients, self.k, by_vertex=by_vertex)
        numbers = (self.k, self.kind.rows, len(self.kind.parameters))
        function = self.kind.evaluate or self.kind.project or no_projection
        return any_kernel(function, *numbers, by_vertex=by_vertex, projects=self.kind.evaluate is None)

    def value(self, number, q):
        x = q[self.group.vertices[number], :3].astype(np.float64)
        if self.form == "fast":
            return written(self.group, number, x)
        return (projected if self.kind.evaluate is None else evaluated)(self.group, number, x)

    def delta(self, number, q, before):
        """The value, Δλ, and how far rounding may take Δλ away."""
        value, w = self.value(number, q), q[self.group.vertices[number], 3].astype(np.float64)
        soft = float(self.soft[number])
        delta, total = step_of(value, w, soft, float(before), self.kappa, self.compliant)
        sizes = value.size + soft * abs(float(before)) * self.compliant
        return value, delta, self.slack * EPS32 * (sizes / total + 4 * abs(delta))

    def square(self, number, value, before):
        """(C + α λ)², or C², and how far rounding may take it away."""
        more = float(self.soft[number]) * float(before) * self.compliant
        missing, size = value.c + more, value.size + abs(more)
        return missing**2, 2 * self.slack * EPS32 * size * (abs(missing) + EPS32 * size) + 8 * EPS32 * missing**2

    def in_place(self, begin, end, kernel=None):
        arrays = (
            *(self.vertices, self.vertices, self.parameters, self.soft, self.lambdas, self.q, self.q, self.settings),
            *(self.soft, self.sums, self.operator),
        )
        Plan([Phase(kernel or self.kernel(), arrays, begin, end, serial=True)], 1).run()


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


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("name", KINDS)
def test_into_slots(name, mode):
    """Slot of corner k: share_k w_k Δλ_k ∇_k C, all from the same positions; its own λ grows by share_k Δλ_k."""
    case = Case(name, mode)
    slots, shares = np.zeros((case.m * case.k, 4), np.float32), case.rng.uniform(0.1, 0.5, case.n).astype(np.float32)
    targets = case.rng.permutation(case.m * case.k).astype(np.int32)
    case.settings[2] = 1
    arrays = (
        *(case.vertices, targets, case.parameters, case.soft, case.lambdas, case.q, slots, case.settings),
        *(shares, case.sums, case.operator),
    )
    q = case.q.copy()
    for _ in range(2):
        old = slots.copy()
        Plan([Phase(case.kernel(), arrays, 0, case.m, serial=True)], 1).run()
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
    arrays = (
        *(order, starts, flat, case.vertices, case.parameters, case.soft, lambdas, case.q, moved, case.settings),
        *(shares, case.operator, weights),
    )
    visit = Plan([Phase(case.kernel(by_vertex=True), arrays, 0, case.n, serial=True)], 1)
    apply = Plan([Phase(apply_steps, (order, moved, case.q, shares, squares, weights), 0, case.n, serial=True)], 1)
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


# --- four at a time ---------------------------------------------------------------------------------------------------

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
    Plan([Phase(load_positions, (start, inverse, q), 0, 37), Phase(store_positions, (q, out), 0, 37)], 2).run()
    np.testing.assert_array_equal(q, np.column_stack([start[:, :3], inverse]))
    np.testing.assert_array_equal(out, np.column_stack([start[:, :3], np.zeros(37, np.float32)]))


def test_steps_are_gathered_from_slots():
    """step_v += Σ of its slots, without the fourth lane, which holds λ."""
    rng = np.random.default_rng(1)
    slot_at = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 20))]).astype(np.int32)
    slots = rng.normal(size=(int(slot_at[-1]), 4)).astype(np.float32)
    step = np.ones((20, 4), np.float32)
    phases = [Phase(clear_steps, (step,), 0, 20)] + 2 * [Phase(gather_steps, (slot_at, slots, step), 0, 20)]
    Plan(phases, 1).run()
    for v in range(20):
        own = slots[slot_at[v] : slot_at[v + 1], :3].astype(float)
        size = np.abs(own).sum() + 1e-30
        np.testing.assert_allclose(step[v, :3], 2 * own.sum(axis=0), atol=16 * EPS32 * size)
    np.testing.assert_array_equal(step[:, 3], 0)


def test_the_watch_sets_its_threshold_once():
    """monitor = (Σ C², tolerance² x the first Σ C²)."""
    totals, monitor, tolerance = np.array([3.0, 1.0]), np.array([1.0, 0.0]), np.array([0.1, 0.0])
    history = np.zeros(1 + 2 * 2)
    plan = Plan([Phase(watch_violation, (totals, monitor, tolerance, history), 0, 2, serial=True)], 1)
    plan.run(1, first=0)
    np.testing.assert_allclose(monitor, [4, 0.04])
    totals[:] = 0.5
    plan.run(1, first=1)
    np.testing.assert_allclose(monitor, [1, 0.04])
    np.testing.assert_array_equal(history, [2, 0, 4, 1, 1])
    tolerance[0], totals[:] = 0.0, 0.0
    plan = Plan([Phase(watch_violation, (totals, monitor, tolerance, history), 0, 2, serial=True)], 1, monitor)
    assert plan.run(5) == 5  # without a tolerance nothing is small enough
    np.testing.assert_array_equal(history, [2, 0, 4, 1, 1])


def test_all_built_in_constraints_are_covered():
    """A new built-in constraint of two or more vertices belongs into the list above (tet-volume is like tet-strain)."""
    ours = {name for name, kind in CONSTRAINTS.items() if kind.prepare.__module__.startswith("vivace.")}
    assert ours - {"pin", "tet-volume"} == set(KINDS)
