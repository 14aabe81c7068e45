"""The lattice's kernels against dense float64 arithmetic: cells, elimination, and how a step is judged."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32, EPS64, blocks, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.constraints.kernels.rotation import nearest_rotation
from vivace.solvers.projective.kernels import lattice as kernel
from vivace.solvers.projective.kernels.lattice_cells import general_cells, planar_cells
from vivace.solvers.projective.lattice_parts import features
from vivace.solvers.projective.lattice_space import coefficients


def run(kernel_, items, *, threads=1, iteration=0, **arrays):
    Plan([kernel_.over(0, items, **arrays)], threads).run(1, first=iteration)


# --- elimination -----------------------------------------------------------------------------------------------------


class Tridiagonal:
    """Random symmetric positive definite matrices, block tridiagonal over slabs, for parts of (slabs, nodes a slab)."""

    def __init__(self, parts, seed):
        rng = np.random.default_rng(seed)
        self.parts, self.slabs, self.dense, rows = [], [], [], []
        node = matrix = 0
        for number, (count, size) in enumerate(parts):
            first, middle = len(self.slabs), len(self.slabs) + count // 2
            self.parts.append((first, first + count, middle))
            n = 3 * size
            a = np.zeros((count * n, count * n))
            for s in range(count - 1):  # a sum of squares of two neighbouring slabs each, and a diagonal
                b = rng.standard_normal((n, 2 * n))
                a[s * n : (s + 2) * n, s * n : (s + 2) * n] += b.T @ b
            a += np.diag(rng.uniform(0.5, 2.0, count * n))
            self.dense.append(a)
            for s in range(count):
                here = first + s
                follower = -1 if here == middle else here + 1 if here < middle else here - 1
                self.slabs.append((number, follower, size, matrix, 0, node))
                own = a[s * n : (s + 1) * n]
                to = follower - first
                coupling = np.zeros((n, n)) if follower < 0 else own[:, to * n : (to + 1) * n]
                rows.append(np.hstack([np.triu(own[:, s * n : (s + 1) * n]), coupling]).ravel())
                matrix += 2 * n * n
                node += size
        self.nodes = node
        self.u = np.concatenate(rows)
        self.f = to_rows(rng.standard_normal((node, 3)))

    def solve(self, threads):
        """x by the kernels."""
        count = len(self.parts)
        sizes = np.array([3 * self.slabs[first][kernel.SIZE] for first, _, _ in self.parts for _ in range(2)])
        at = np.concatenate([[[0, 0]], np.cumsum(np.stack([sizes**2, sizes], axis=1), axis=0)])
        x = np.full((self.nodes, 4), np.nan, np.float32)
        table = {
            "parts": np.array(self.parts, np.int32),
            "slabs": np.array(self.slabs, np.int32),
            "u": self.u.copy(),
            "y": np.zeros(3 * self.nodes),
            "failed": np.zeros(2 * count, np.int32),
        }
        meeting = {"meeting": np.zeros(at[-1, 0]), "meeting_y": np.zeros(at[-1, 1])}
        meeting |= {"meeting_at": at[:-1].astype(np.int32)}
        phases = [
            kernel.eliminate.over(0, 2 * count, **table, **meeting, f=self.f, chunks=2 * count),
            kernel.solve_middle.over(0, count, **table, **meeting, f=self.f, chunks=count),
            kernel.substitute.over(0, 2 * count, **table, x=x, chunks=2 * count),
        ]
        Plan(phases, threads).run()
        return x[:, :3]


SHAPES = {
    "one slab": [(1, 4)],
    "two slabs": [(2, 3)],
    "three slabs": [(3, 1)],
    "many slabs": [(9, 5)],
    "several parts": [(5, 3), (1, 2), (2, 1), (8, 4), (3, 3)],
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_elimination_solves_the_system(shape, threads):
    """A x = f by numpy.linalg.solve, within the condition of A times float64's roundings, and one of float32."""
    problem = Tridiagonal(SHAPES[shape], len(shape))
    found = problem.solve(threads)
    first = 0
    for a in problem.dense:
        n = len(a) // 3
        f, got = problem.f[first : first + n, :3].astype(np.float64).ravel(), found[first : first + n].ravel()
        exact = np.linalg.solve(a, f)
        bound = EPS32 * np.abs(exact) + 10 * len(a) * EPS64 * np.linalg.cond(a) * np.linalg.norm(exact)
        assert (np.abs(got - exact) <= bound).all()
        first += n


def test_a_part_that_cannot_be_factorised_stays_and_the_others_do_not_mind():
    """x = 0 for it, whichever half or middle slab it is that has no positive pivot."""
    parts = [(5, 2), (5, 2), (4, 1)]
    whole = Tridiagonal(parts, 3)
    good = whole.solve(1)
    for slab in range(5):
        broken = Tridiagonal(parts, 3)
        broken.u[broken.slabs[5 + slab][kernel.MATRIX]] = -1.0
        found = broken.solve(2)
        assert (found[10:20] == 0).all()
        np.testing.assert_array_equal(np.delete(found, range(10, 20), 0), np.delete(good, range(10, 20), 0))


@pytest.mark.slow
def test_what_holds_vertices_goes_to_the_nodes_around_them():
    """constant += Pᵀ diag(held) P, where the two nodes are in the same slab or the second is in the next."""
    rng = np.random.default_rng(4)
    size, count, n = 3, 5, 40
    slabs = np.zeros((count, kernel.SLAB_COLUMNS), np.int32)
    for s in range(count):
        follower = -1 if s == 2 else s + 1 if s < 2 else s - 1
        slabs[s] = 0, follower, size, 0, 2 * size * size * s, size * s
    p = np.zeros((n, size * count))
    for v in range(n):  # hats of a cell: two neighbouring slabs
        first = size * rng.integers(0, count - 1)
        p[v, first : first + 2 * size] = rng.uniform(0, 1, 2 * size)
    at = np.arange(n + 1) * 2 * size
    columns, values = np.nonzero(p)[1].astype(np.int32), p[p > 0]
    held = np.where(rng.random(n) < 0.4, rng.uniform(1, 9, n), 0.0)
    slab_of, place_of = np.repeat(np.arange(count), size), np.tile(np.arange(size), count)
    constant = np.zeros(2 * size * size * count)
    kernel.add_diagonal(np.flatnonzero(held), held, at, columns, values, slab_of, place_of, slabs, constant)
    exact = (p.T * held) @ p
    for s in range(count):
        rows = constant.reshape(count, size, 2 * size)[s]
        own, follower = slice(size * s, size * (s + 1)), slabs[s, kernel.NEXT]
        np.testing.assert_allclose(rows[:, :size], exact[own, own], rtol=n * EPS64)
        there = slice(size * follower, size * (follower + 1))
        coupling = np.zeros((size, size)) if follower < 0 else exact[own, there]
        np.testing.assert_allclose(rows[:, size:], coupling, rtol=n * EPS64)


# --- cells -----------------------------------------------------------------------------------------------------------


def random_springs(cells, dims, rng):
    """Starts in fours, ends, stiffness, rest length and features of springs; some compressed, some stretched."""
    counts = 4 * rng.integers(0, 4, cells)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    m, vertices = int(starts[-1]), 30
    ends = np.array([rng.permutation(vertices)[:2] for _ in range(m)], np.int32).reshape(-1, 2)
    stiffness = np.where(rng.random(m) < 0.2, 0.0, rng.uniform(1, 100, m)).astype(np.float32)
    phi = rng.uniform(-1, 1, (m, 2**dims - 1)).astype(np.float32)
    return starts, ends, stiffness, rng.uniform(0.1, 3.0, m).astype(np.float32), phi


def spring_blocks(springs, q, cell):
    """T_fg = Σ w φ_f φ_g C, C = (1 - t) I + t d̂d̂ᵀ, t = min(1, l/|d|), and the same of absolute values."""
    starts, ends, stiffness, length, phi = springs
    f = phi.shape[1]
    t, size = np.zeros((f, f, 3, 3)), np.zeros((f, f))
    for e in range(starts[cell], starts[cell + 1]):
        d = q[ends[e, 0]] - q[ends[e, 1]]
        share = min(1.0, float(length[e]) / np.linalg.norm(d))
        unit = d / np.linalg.norm(d)
        c = (1 - share) * np.eye(3) + share * np.outer(unit, unit)
        pair = float(stiffness[e]) * np.outer(phi[e].astype(np.float64), phi[e])
        t += pair[:, :, None, None] * c
        size += np.abs(pair)
    return t, size


def random_tets(cells, vertices, rng):
    """Starts, corners, operators and weights of tetrahedra in fours, and gradients of their features in space."""
    starts = np.concatenate([[0], np.cumsum(4 * rng.integers(0, 3, cells))]).astype(np.int32)
    m = int(starts[-1])
    corners = np.array([rng.permutation(vertices)[:4] for _ in range(m)], np.int32).reshape(-1, 4)
    operator = rng.standard_normal((m, 3, 4)).astype(np.float32)
    operator[:, :, 0] = -operator[:, :, 1:].sum(axis=2)
    slopes = to_rows(rng.uniform(-1, 1, (7 * m, 3)))
    return starts, corners, operator, rng.uniform(1, 10, m).astype(np.float32), slopes


def frames(tets, q, c):
    """F of tetrahedron c, and the gradients of its features as rows (7, 3)."""
    _, corners, operator, _, slopes = tets
    columns = operator[c].astype(np.float64) @ q[corners[c]]  # row r is column r of F
    return columns.T, slopes[7 * c : 7 * c + 7, :3].astype(np.float64)


def strain_blocks(tets, q, cell):
    """T_fg = Σ w/2 (g_f·g_g I + (R g_g)(R g_f)ᵀ)."""
    t, size = np.zeros((7, 7, 3, 3)), np.zeros((7, 7))
    for c in range(tets[0][cell], tets[0][cell + 1]):
        f, g = frames(tets, q, c)
        r = np.zeros((3, 3))
        nearest_rotation(f, r)
        turned, w = g @ r.T, float(tets[3][c])
        t += 0.5 * w * ((g @ g.T)[:, :, None, None] * np.eye(3) + np.einsum("gi,fj->fgij", turned, turned))
        size += w * np.linalg.norm(g, axis=1)[:, None] * np.linalg.norm(g, axis=1)
    return t, size


def volume_blocks(tets, q, cell):
    """T_fg = Σ w (N g_f)(N g_g)ᵀ, N = cof F/‖cof F‖."""
    t, size = np.zeros((7, 7, 3, 3)), np.zeros((7, 7))
    for c in range(tets[0][cell], tets[0][cell + 1]):
        f, g = frames(tets, q, c)
        cofactor = np.linalg.det(f) * np.linalg.inv(f).T
        turned = g @ (cofactor / np.linalg.norm(cofactor)).T
        t += float(tets[3][c]) * np.einsum("fi,gj->fgij", turned, turned)
        size += float(tets[3][c]) * np.linalg.norm(g, axis=1)[:, None] * np.linalg.norm(g, axis=1)
    return t, size


def check_cells(h, dims, cells, blocks_of, roundings):
    """h_KL = Σ b_Kf b_Lg T_fg for K <= L, to so many roundings of the sums' sizes."""
    b, corners = coefficients(dims), 2**dims
    got = h[:, :3].reshape(cells, corners, corners, 3, 3)
    for cell in range(cells):
        t, size = blocks_of(cell)
        exact = np.einsum("kf,mg,fgij->kmij", b, b, t)
        bound = roundings * EPS32 * np.einsum("kf,mg,fg->km", np.abs(b), np.abs(b), size)
        k, m = np.triu_indices(corners)
        assert (np.abs(got[cell, k, m] - exact[k, m]).max(axis=(1, 2)) <= bound[k, m]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_planar_cells(threads):
    rng = np.random.default_rng(5)
    cells, q = 9, to_rows(rng.standard_normal((30, 3)))
    springs = random_springs(cells, 2, rng)
    starts, ends, stiffness, length, phi = springs
    h = np.full((48 * cells, 4), np.nan, np.float32)
    given = {"starts": starts, "ends": ends, "stiffness": stiffness, "length": length, "phi": to_rows(phi)}
    b = coefficients(2).astype(np.float32).ravel()
    run(planar_cells, cells, **given, q=q, coefficients=b, h=h, threads=threads, grain=1)
    wide = q[:, :3].astype(np.float64)
    # a spring's block has 10 roundings, up to 12 springs are added, then two sums of three
    check_cells(h, 2, cells, lambda c: spring_blocks(springs, wide, c), 40)


NO_TETS = (np.zeros((0, 4), np.int32), np.zeros(0, np.float32), np.zeros(0, np.float32), np.zeros((0, 4), np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dims", "what"),
    [(1, "springs"), (2, "springs"), (3, "springs"), (3, "tetrahedra"), (3, "volumes"), (3, "all")],
)
def test_general_cells(dims, what):
    rng = np.random.default_rng(dims)
    cells, q = 6, to_rows(rng.standard_normal((30, 3)))
    wide = q[:, :3].astype(np.float64)
    springs, tets, volumes = random_springs(cells, dims, rng), random_tets(cells, 30, rng), random_tets(cells, 30, rng)
    empty = np.zeros(cells + 1, np.int32)
    if what in ("tetrahedra", "volumes"):
        springs = (empty, *(x[:0] for x in springs[1:]))
    if what in ("springs", "volumes"):
        tets = (empty, *NO_TETS[:1], np.zeros((0, 3, 4), np.float32), *NO_TETS[2:])
    if what in ("springs", "tetrahedra"):
        volumes = (empty, *NO_TETS[:1], np.zeros((0, 3, 4), np.float32), *NO_TETS[2:])
    h = np.full((cells * 3 * 4**dims, 4), np.nan, np.float32)
    starts, ends, stiffness, length, phi = springs
    given = {"starts": starts, "ends": ends, "stiffness": stiffness, "length": length, "phi": phi}
    given |= {"q": q, "coefficients": coefficients(dims).astype(np.float32).ravel(), "h": h}
    given |= dict(zip(("tet_starts", "corners4", "operator", "weights", "slopes"), tets, strict=True))
    given["corners"] = np.array([2**dims])
    names = ("starts", "corners", "operator", "weights", "slopes")
    given |= {f"volume_{name}": array for name, array in zip(names, volumes, strict=True)}
    run(general_cells, cells, **given, threads=2, grain=1)

    def expected(cell):
        t, size = spring_blocks(springs, wide, cell)
        if dims == 3:
            for other in (strain_blocks(tets, wide, cell), volume_blocks(volumes, wide, cell)):
                t, size = t + other[0], size + other[1]
        return t, size

    # Rotations and cofactors of random F err by its condition, some tens here; sums of seven by seven.
    check_cells(h, dims, cells, expected, 60 if what == "springs" else 2000)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_hats_are_made_of_features(dims):
    """hat_K(ξ) = Π (ξ or 1 - ξ) = const + Σ_f b_Kf feature_f(ξ)."""
    xi = np.random.default_rng(dims).random((20, dims))
    corner = (np.arange(2**dims)[:, None] >> np.arange(dims)) & 1
    hats = np.where(corner == 1, xi[:, None], 1 - xi[:, None]).prod(axis=2)
    at_zero = (corner == 0).all(axis=1)
    np.testing.assert_allclose(at_zero + features(xi) @ coefficients(dims).T, hats, atol=1e-14)


# --- the step, and how it is judged ----------------------------------------------------------------------------------


def test_a_step_adds_its_hats_and_keeps_where_it_began():
    """q ← q + scale P x, scale = 1 in the first iteration and state[SCALE] in later ones."""
    rng = np.random.default_rng(6)
    n, nodes = 50, 12
    p = np.where(rng.random((n, nodes)) < 0.3, rng.random((n, nodes)), 0.0)
    at = np.concatenate([[0], np.cumsum((p > 0).sum(axis=1))]).astype(np.int32)
    columns, values = np.nonzero(p)[1].astype(np.int32), p[p > 0].astype(np.float32)
    x, start, r = (to_rows(rng.standard_normal((k, 3))) for k in (nodes, n, n))
    for iteration, scale in ((0, 1.0), (1, 0.25)):
        q, q_old, r_old, state = start.copy(), np.zeros_like(start), np.zeros_like(r), np.zeros(kernel.STATE_SIZE)
        state[kernel.SCALE] = 0.25
        arrays = {"row_at": at, "j": columns, "a": values, "x": x, "q": q, "q_old": q_old, "r": r, "r_old": r_old}
        run(kernel.lattice_step, n, **arrays, state=state, threads=2, iteration=iteration)
        np.testing.assert_array_equal(q_old, start)
        np.testing.assert_array_equal(r_old, r)
        exact = start + scale * (p @ x.astype(np.float64))
        bound = (nodes + 3) * EPS32 * (np.abs(start) + np.abs(p) @ np.abs(x))
        assert (np.abs(q - exact) <= bound).all()


@pytest.mark.parametrize(
    ("slope", "left", "kept"),
    [
        (2.0, 1.0, 1.0),  # still falling
        (2.0, -0.5, 1.0),  # turned round, by less than what may pass (a half)
        (2.0, -2.0, 0.5),  # the minimum of the parabola: a/(a - b)
        (2.0, -6.0, 0.25),
        (-1.0, -2.0, 0.0),  # it went up
        (0.0, 1.0, 0.0),
        (1.0, np.nan, 0.0),
        (1.0, -np.inf, 0.0),
        (np.nan, 1.0, 0.0),
    ],
)
def test_judging(slope, left, kept):
    """a = r_old·d, b = r·d: all of the step, a/(a - b) of it beyond b < -a/2, nothing unless a > 0 and b is finite.

    What keeps less than half is counted and halves later steps; the first iteration begins anew.
    """
    partial, state = np.array([left, slope]), np.array([0.5, 7.0, 3.0, 9.0])
    run(kernel.judge_lattice, 1, partial=partial, state=state, most_back=np.array([0.5]), iteration=1)
    cut = kept < 0.5
    np.testing.assert_allclose(state, [0.25 if cut else 0.5, kept, 3.0 + cut, 10.0])
    run(kernel.judge_lattice, 1, partial=partial, state=state, most_back=np.array([0.5]), iteration=0)
    np.testing.assert_allclose(state, [0.5 if cut else 1.0, kept, float(cut), 1.0])


@pytest.mark.parametrize("threads", [1, 2])
def test_products_are_summed_in_blocks(threads):
    """Σ r·d and Σ r_old·d, d = q - q_old, whatever the number of threads."""
    rng = np.random.default_rng(7)
    n = 1500
    q, q_old, r, r_old = (to_rows(rng.standard_normal((n, 3))) for _ in range(4))
    partial = np.full(2 * blocks(n), np.nan)
    arrays = {"q": q, "q_old": q_old, "r": r, "r_old": r_old, "partial": partial}
    run(kernel.judge_lattice_blocks, n, **arrays, threads=threads, grain=kernel.BLOCK)
    d = q.astype(np.float64) - q_old
    for k, v in enumerate((r, r_old)):
        bound = 5 * EPS32 * (np.abs(d) * np.abs(v)).sum()
        assert partial[k::2].sum() == pytest.approx((d * v).sum(), abs=bound)


@pytest.mark.parametrize("kept", [0.0, 0.3, 1.0])
def test_keeping_a_share(kept):
    """q = q_old + kept (q - q_old), r likewise; nothing and all of it to the bit."""
    rng = np.random.default_rng(8)
    q, q_old, r, r_old = (to_rows(rng.standard_normal((60, 3))) for _ in range(4))
    ends, state = (q.copy(), r.copy()), np.array([1.0, kept, 0.0, 0.0])
    run(kernel.keep_lattice_step, 60, q=q, q_old=q_old, r=r, r_old=r_old, state=state, threads=2)
    for got, old, new in zip((q, r), (q_old, r_old), ends, strict=True):
        exact = old + kept * (new.astype(np.float64) - old)
        bound = 0.0 if kept in (0.0, 1.0) else 4 * EPS32
        assert (np.abs(got - exact) <= bound * (np.abs(old) + np.abs(new))).all()
