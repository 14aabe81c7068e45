"""Laying out rows: nothing of Y is lost, doubled or moved, whatever the order and the springs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32
from vivace.energy.kernels.assemble import (
    PADDING,
    add_to_level,
    assign_slots,
    count_corners,
    invert_level,
    pair_springs,
    sort_rows,
    split_rows,
)
from vivace.solvers.projective.layout import Layout


def doubled_cloth():
    """Springs, hinges, and second and third springs between pairs that have one, some written the other way round."""
    model = vv.Model.of(vv.mesh.cloth(6, 5), vv.Cloth(stretch=1e3, bend=1e-2), air=0.3, viscosity=0.01).pin("corners")
    edges = model.mesh.edges
    model = model.constrain("spring", edges[::3], 77.0, scale=0.5)
    return model.constrain("spring", edges[::6][:, ::-1], np.linspace(1.0, 2.0, len(edges[::6])))


def reordered(layout, rows=None):
    """Y from the layout's rows, back in the order of the mesh."""
    y = twins.dense_from_rows(rows or layout.rows, layout.tie)
    back = np.empty_like(y)
    back[np.ix_(layout.order, layout.order)] = y
    return back


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("freeze", [False, True])
def test_rows_reproduce_the_matrix(seed, freeze):
    """Off the diagonal Y_ij = -Σ a exactly (float32 of it); Y_ii = k_i + Σ a to the rounding of that sum."""
    model = doubled_cloth()
    h = 1 / 60
    layout = Layout(vv.System(model, h), np.random.default_rng(seed).permutation(model.n), 1, refresh=int(freeze))
    y, back = vv.System(model, h).matrix.toarray(), reordered(layout)
    off = ~np.eye(model.n, dtype=bool)
    assert np.array_equal(back[off], y.astype(np.float32)[off])
    assert np.abs(np.diag(back - y)).max() <= EPS32 * np.abs(y).sum(axis=1).max()
    assert np.array_equal(layout.inverse, (1 / np.diag(y)[layout.order]).astype(np.float32))


def test_each_neighbour_carries_its_coefficient_once():
    """Of several springs between i and j the first carries a_ij and the rest zero; each keeps its own w l."""
    model = doubled_cloth()
    layout = Layout(vv.System(model, 1 / 60), np.random.default_rng(9).permutation(model.n), 1)
    spring_at, spring_j, spring_a, spring_wl, other_at, other_j, _ = layout.rows
    expected: dict[tuple[int, int], list[float]] = {}
    for group in layout.system.springs:
        for (i, j), w, (length,) in zip(group.vertices.tolist(), group.weights, group.parameters, strict=True):
            expected.setdefault((i, j), []).append(float(np.float32(w * length)))
            expected.setdefault((j, i), []).append(float(np.float32(w * length)))
    y = layout.system.matrix.toarray()
    for i in range(model.n):
        v = layout.order[i]
        found: dict[int, list[tuple[float, float]]] = {}
        for e in range(spring_at[i], spring_at[i + 1]):
            found.setdefault(spring_j[e], []).append((float(spring_a[e]), float(spring_wl[e])))
        assert len(found) == sum(first == v for first, _ in expected)
        for j, entries in found.items():
            assert [a for a, _ in entries] == [float(np.float32(-y[v, layout.order[j]]))] + [0.0] * (len(entries) - 1)
            assert sorted(wl for _, wl in entries) == sorted(expected[v, layout.order[j]])
        others = other_j[other_at[i] : other_at[i + 1]]
        assert not set(others.tolist()) & set(found)
        assert len(set(others.tolist())) == len(others)


def split_rows_twin(order, rank, matrix, springs):
    """By vertex: [(neighbour, a, w l)] of its springs, and [(neighbour, a)] of what else it is coupled to."""
    out = []
    for v in order:
        here = slice(matrix.indptr[v], matrix.indptr[v + 1])
        coupled = {int(j): -value for j, value in zip(matrix.indices[here], matrix.data[here], strict=True)}
        mine = []
        for j, w, length in springs[v]:
            mine.append((rank[j], coupled.pop(j, 0.0), w * length))  # the first spring carries what there is
        out.append((mine, [(rank[j], a) for j, a in coupled.items()]))
    return out


@pytest.mark.parametrize("density", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("most", [0, 1, 6])
def test_split_rows(most, density):
    """Entry for entry what a dictionary a vertex gives, float32 of it: several springs of a pair, springs without an
    off-diagonal, rows with neither; then zeros to pad."""
    rng = np.random.default_rng(most)
    n = 30
    order = rng.permutation(n).astype(np.int32)
    rank = np.argsort(order).astype(np.int32)
    dense = np.where(rng.random((n, n)) < density, rng.standard_normal((n, n)), 0.0)
    np.fill_diagonal(dense, 0.0)
    matrix = sp.csr_array(dense)
    springs = [
        [
            (int(rng.choice(np.delete(np.arange(n), v))), *rng.uniform(0.1, 9, 2))
            for _ in range(rng.integers(0, most + 1))
        ]
        for v in range(n)
    ]
    at = np.concatenate([[0], np.cumsum([len(own) for own in springs])]).astype(np.int32)
    flat = [spring for own in springs for spring in own]
    j, w, length = (np.array([s[k] for s in flat], t) for k, t in enumerate((np.int32, float, float)))
    limits = np.array([len(flat), matrix.nnz])
    given = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
    rows = split_rows(order, rank, *given, at, j, w, length, limits)
    assert [array.dtype for array in rows] == [np.dtype(t) for t in ("i4", "i4", "f4", "f4", "i4", "i4", "f4")]
    spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a = rows
    doubled = 0
    for i, (mine, others) in enumerate(split_rows_twin(order, rank, matrix, springs)):
        here, there = slice(spring_at[i], spring_at[i + 1]), slice(other_at[i], other_at[i + 1])
        assert spring_j[here].tolist() == [j for j, _, _ in mine]
        assert spring_a[here].tolist() == [float(np.float32(a)) for _, a, _ in mine]
        assert spring_wl[here].tolist() == [float(np.float32(wl)) for _, _, wl in mine]
        assert other_j[there].tolist() == [j for j, _ in others]
        assert other_a[there].tolist() == [float(np.float32(a)) for _, a in others]
        doubled += len(mine) - len({j for j, _, _ in mine})
    assert spring_at[-1] == len(flat)
    assert len(spring_j) == len(flat) + PADDING
    assert not any(array[len(flat) :].any() for array in (spring_j, spring_a, spring_wl))
    assert doubled > 3 or most < 6


def test_groups_of_four_may_be_read_past_the_end():
    """Four entries of padding after the last spring, of zero weight."""
    layout = Layout(vv.System(doubled_cloth(), 1 / 60), np.arange(30), 1)
    last = layout.rows[0][-1]
    assert all(len(array) >= last + 4 and not array[last:].any() for array in layout.rows[1:4])


def test_a_model_without_springs_or_without_anything():
    """No springs: everything is an 'other'. No constraints at all: Y is diagonal."""
    flat = vv.mesh.cloth(4, 4)
    masses = np.full(16, 0.1)
    empty = vv.Model(flat, masses, (), np.zeros(3))
    hinged = empty.constrain("hinge", flat.hinges, 1e-2)
    for model in (empty, hinged):
        system = vv.System(model, 0.01)
        layout = Layout(system, np.arange(16)[::-1].copy(), 1)
        assert layout.rows[0][-1] == 0
        y, off = system.matrix.toarray(), ~np.eye(16, dtype=bool)
        assert np.array_equal(reordered(layout)[off], y.astype(np.float32)[off])


def test_pair_springs():
    """at[i] … at[i+1] lists every spring at i once with its other end; springs stay in their order."""
    rng = np.random.default_rng(2)
    n, m = 20, 70
    pairs = np.stack([rng.permutation(n)[:2] for _ in range(m)]).astype(np.int32)
    at, other, number = pair_springs(n, pairs)
    for i in range(n):
        mine = [(s, int(b if a == i else a)) for s, (a, b) in enumerate(pairs) if i in (a, b)]
        here = slice(at[i], at[i + 1])
        assert list(zip(number[here].tolist(), other[here].tolist(), strict=True)) == mine
    assert pair_springs(3, np.zeros((0, 2), np.int32))[0].tolist() == [0, 0, 0, 0]


def test_slots_are_a_permutation_grouped_by_vertex():
    """Every corner gets a slot of its own, inside the range of the vertex's rank."""
    rng = np.random.default_rng(4)
    n = 15
    rank = rng.permutation(n).astype(np.int32)
    groups = [np.stack([rng.permutation(n)[:k] for _ in range(9)]).astype(np.int32) for k in (4, 2)]
    counts = np.zeros(n, np.int32)
    for vertices in groups:
        count_corners(counts, vertices, rank)
    assert np.array_equal(counts, np.bincount(rank[np.concatenate([g.ravel() for g in groups])], minlength=n))
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    cursor = start[:-1].copy()
    slots = [assign_slots(cursor, vertices, rank) for vertices in groups]
    assert np.array_equal(cursor, start[1:])
    assert sorted(np.concatenate([s.ravel() for s in slots]).tolist()) == list(range(start[-1]))
    for vertices, slot in zip(groups, slots, strict=True):
        assert (start[rank[vertices]] <= slot).all()
        assert (slot < start[rank[vertices] + 1]).all()


def test_the_tie_holds_for_constraints_that_are_not_invariant_to_translation():
    """k_i = Y_ii - Σ a also where a constraint other than a pin holds a vertex to the world: here A = [1]."""
    name = "anchor-of-a-test"

    @vv.constraint(name, vertices=1, rows=1, parameters=("x", "y", "z"))
    class Anchor:
        """Pulls a vertex to where it was."""

        @staticmethod
        def prepare(rest):
            return vv.Prepared(operator=[[1.0]], parameters=rest[:, 0])

        @staticmethod
        def project(z, parameters, p):
            for c in range(3):
                p[0, c] = parameters[c]

    try:
        system = vv.System(vv.Model.of(vv.mesh.cloth(4, 4)).constrain(name, [0, 3], 1e3), 1 / 60)
        layout = Layout(system, np.arange(16), 1)
        y = system.matrix.toarray()
        assert np.abs(reordered(layout) - y).max() <= EPS32 * np.abs(y).sum(axis=1).max()
    finally:
        vv.CONSTRAINTS._things.pop(name)


# --- coarse levels ---------------------------------------------------------------------------------------------------


def test_sorted_rows_hold_the_same_entries_and_know_their_middle():
    """Columns rise, each keeps its value, and `middle` is where they pass the row's own number."""
    rng = np.random.default_rng(1)
    n = 40
    counts = rng.integers(0, 9, n)
    counts[:3] = 0, 1, 2
    at = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    picks = [rng.choice(np.delete(np.arange(n), i), k, replace=False) for i, k in enumerate(counts)]
    j = np.concatenate(picks).astype(np.int32)
    a = rng.standard_normal(len(j)).astype(np.float32)
    before = [sorted(zip(j[b:e].tolist(), a[b:e].tolist(), strict=True)) for b, e in pairwise(at)]
    middle = sort_rows(at, j, a)
    for i in range(n):
        here = slice(at[i], at[i + 1])
        assert list(zip(j[here].tolist(), a[here].tolist(), strict=True)) == before[i]
        assert middle[i] == at[i] + sum(column < i for column, _ in before[i])


class Level:
    """A = QᵀYQ of a random Y and a prolongation Q with rows of 1 to 3 entries, stored as the kernels read it."""

    def __init__(self, fine=30, coarse=8, seed=0):
        rng = np.random.default_rng(seed)
        q = np.zeros((fine, coarse))
        for i in range(fine):
            q[i, rng.choice(coarse, 1 + i % 3, replace=False)] = rng.uniform(-0.3, 1.0, 1 + i % 3)
        self.q, self.y = sp.csr_array(q), np.diag(rng.uniform(1.0, 2.0, fine))
        self.matrix = q.T @ self.y @ q
        off = sp.csr_array(self.matrix - np.diag(np.diag(self.matrix)))
        self.at, self.columns, self.wide = off.indptr.astype(np.int32), off.indices.astype(np.int32), off.data.copy()
        self.single, self.diagonal = (-self.wide).astype(np.float32), np.diag(self.matrix).copy()
        self.inverse = (1 / self.diagonal).astype(np.float32)

    def add(self, changed, delta):
        q = self.q
        own = (self.at, self.columns, self.wide, self.single, self.diagonal, self.inverse)
        add_to_level(changed, delta, q.indptr.astype(np.int32), q.indices.astype(np.int32), q.data, *own)

    @property
    def dense(self):
        n = len(self.diagonal)
        return sp.csr_array((self.wide, self.columns, self.at), shape=(n, n)).toarray() + np.diag(self.diagonal)


def test_a_change_of_the_fine_diagonal_reaches_a_level():
    """A + QᵀΔQ exactly, the float32 copies included; taken back, A is what it was."""
    level = Level()
    first = level.dense
    changed, delta = np.array([2, 3, 11, 29]), np.array([5.0, 0.5, 100.0, -0.7])
    change = np.zeros((30, 30))
    change[changed, changed] = delta
    expected = first + level.q.T @ change @ level.q
    level.add(changed, delta)
    np.testing.assert_allclose(level.dense, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(level.single, (-level.wide).astype(np.float32))
    np.testing.assert_array_equal(level.inverse, (1 / level.diagonal).astype(np.float32))
    level.add(changed, -delta)
    np.testing.assert_allclose(level.dense, first, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_products_without_a_place_go_to_the_diagonal():
    """An entry that the level does not store: row sums are kept, and positive products only make the level stiffer."""
    level = Level(seed=3)
    n = len(level.diagonal)
    row = np.repeat(np.arange(n), np.diff(level.at))
    i, j = 0, int(level.columns[level.at[0]])
    kept = ~(((row == i) & (level.columns == j)) | ((row == j) & (level.columns == i)))
    off = sp.csr_array((level.wide[kept], (row[kept], level.columns[kept])), shape=(n, n))
    level.at, level.columns = off.indptr.astype(np.int32), off.indices.astype(np.int32)
    level.wide, level.single = off.data.copy(), (-off.data).astype(np.float32)
    q = np.zeros(level.q.shape)
    q[4, [i, j]] = 0.7, 0.2
    level.q = sp.csr_array(q)
    first = level.dense
    level.add(np.array([4]), np.array([10.0]))
    exact = 10.0 * np.outer(q[4], q[4])
    np.testing.assert_allclose((level.dense - first).sum(axis=1), exact.sum(axis=1), rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(level.dense - first - exact)[0] >= -1e-12
    assert not (level.dense - first)[i, j]


@pytest.mark.parametrize("n", [1, 2, 17, 64])
def test_levels_are_inverted(n):
    """numpy.linalg.inv, to the rounding of float32; symmetric to the bit."""
    rng = np.random.default_rng(n)
    root = rng.standard_normal((n, n))
    matrix = root @ root.T + n * np.eye(n)
    off = sp.csr_array(matrix - np.diag(np.diag(matrix)))
    out = np.full((n, n), np.nan, np.float32)
    invert_level(off.indptr.astype(np.int32), off.indices.astype(np.int32), off.data, np.diag(matrix).copy(), out)
    exact = np.linalg.inv(matrix)
    np.testing.assert_allclose(out, exact, rtol=0, atol=EPS32 * np.abs(exact).max())
    np.testing.assert_array_equal(out, out.T)


@pytest.mark.parametrize("n", [1, 5, 30])
def test_a_singular_level_gets_a_generalised_inverse(n):
    """A ring of springs that nothing holds: A X A = A with finite X, whose forces on rigid motion are zero."""
    ring = sp.eye_array(n) * 2.0 - sp.coo_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    matrix = (ring - sp.coo_array((np.ones(n), ((np.arange(n) + 1) % n, np.arange(n))), shape=(n, n))).toarray()
    off = sp.csr_array(matrix - np.diag(np.diag(matrix)))
    out = np.full((n, n), np.nan, np.float32)
    invert_level(off.indptr.astype(np.int32), off.indices.astype(np.int32), off.data, np.diag(matrix).copy(), out)
    assert np.isfinite(out).all()
    assert np.linalg.matrix_rank(matrix) == n - 1
    np.testing.assert_allclose(matrix @ out @ matrix, matrix, rtol=0, atol=40 * EPS32 * np.abs(out).max())
