"""Blocks of the Hessian, sweeps over them, coarse matrices: each kernel against dense float64 arithmetic."""

import numpy as np
import pytest

from kernel_twins import EPS32, blocks, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.energy.kernels.assemble import list_corners, sort_rows
from vivace.solvers.projective.kernels import block_contacts as contacts
from vivace.solvers.projective.kernels import block_galerkin as galerkin
from vivace.solvers.projective.kernels import block_multigrid as multigrid
from vivace.solvers.projective.kernels import contact
from vivace.solvers.projective.kernels.acceleration import ALPHA, BETA, BLOCK, OLD_PRODUCT, STATE_SIZE
from vivace.solvers.projective.kernels.block_lists import corner_lists, loose_lists, mirrors, pair_lists, tie_lists


def run(kernel, items, *, threads=1, iteration=0, **arrays):
    Plan([kernel.over(0, items, **arrays)], threads).run(1, first=iteration)


def graph(n, chance, rng):
    """A symmetric pattern: row pointers, middle, columns, mirrors."""
    near = np.triu(rng.random((n, n)) < chance, 1)
    near |= near.T
    at = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int32)
    j = np.nonzero(near)[1].astype(np.int32)
    return at, sort_rows(at, j, np.zeros(len(j), np.float32)), j, mirrors(at, j)


def wrapped(m):
    """(k, 3, 3) as rows (D, A, B)."""
    out = np.zeros((3 * len(m), 4), np.float32)
    for d in range(3):
        for c in range(3):
            out[d::3, c] = m[:, c, (c + d) % 3]
    return out


def unwrapped(rows):
    out = np.zeros((len(rows) // 3, 3, 3))
    for d in range(3):
        for c in range(3):
            out[:, c, (c + d) % 3] = rows[d::3, c]
    return out


def unturned(rows):
    """(u, s) as s I + u uᵀ."""
    u, s = rows[:, :3].astype(np.float64), rows[:, 3].astype(np.float64)
    return s[:, None, None] * np.eye(3) + u[:, :, None] * u[:, None, :]


def symmetric(ties):
    """Rows (D, A) as symmetric blocks."""
    d, a = ties[0::2].astype(np.float64), ties[1::2].astype(np.float64)
    out = np.zeros((len(d), 3, 3))
    for c in range(3):
        out[:, c, c] = d[:, c]
        out[:, c, (c + 1) % 3] = out[:, (c + 1) % 3, c] = a[:, c]
    return out


def dense(at, j, pairs, ties):
    """H of T and K = -H_ij: the diagonal is T_i + Σ_j K_ij."""
    n = len(at) - 1
    out = np.zeros((n, 3, n, 3))
    for i in range(n):
        out[i, :, i] += ties[i]
        for k in range(at[i], at[i + 1]):
            out[i, :, j[k]] -= pairs[k]
            out[i, :, i] += pairs[k]
    return out.reshape(3 * n, 3 * n)


def lean(problem, m, rng):
    """Make blocks m less symmetric, around triangles: as much comes in at a vertex as goes out, as with tetrahedra.

    The matrix stays symmetric, and so do its diagonal blocks.
    """
    at, j, mirror = problem.at, problem.j, problem.mirror
    where = {(i, int(j[k])): k for i in range(problem.n) for k in range(at[i], at[i + 1])}
    for a, b in list(where):
        for c in range(b + 1, problem.n):
            if a < b and (b, c) in where and (a, c) in where:
                turn = 0.1 * np.cross(np.eye(3), rng.normal(size=3))
                for i, k in ((a, b), (b, c), (c, a)):
                    m[where[i, k]] += turn
                    m[mirror[where[i, k]]] -= turn


class Problem:
    """A positive matrix in one of the two forms, with factors, and vectors to work on."""

    def __init__(self, form, n=37, seed=0):
        rng = np.random.default_rng(seed)
        self.n, self.form = n, form
        self.at, self.middle, self.j, self.mirror = graph(n, 0.15, rng)
        above = self.j > np.repeat(np.arange(n), np.diff(self.at))
        u = rng.normal(size=(len(self.j), 4)) * [1, 1, 1, 0]
        u[:, 3] = rng.random(len(u))
        u[self.mirror[above]] = u[above]
        self.tie = (0.1 + rng.random(n)).astype(np.float32)
        self.ties = np.zeros((2 * n, 4), np.float32)
        self.slot_at = np.concatenate([[0], np.cumsum(rng.integers(0, 3, n))]).astype(np.int32)
        self.slots = (0.3 * rng.normal(size=(self.slot_at[-1], 4))).astype(np.float32)  # rows (u, s) of contacts
        self.slots[:, 3] = np.abs(self.slots[:, 3])
        run(contacts.hold_ties, n, tie=self.tie, slot_at=self.slot_at, slots=self.slots, ties=self.ties)
        self.factors = np.zeros((2 * n, 4), np.float32)
        if form == "turned":
            self.blocks = u.astype(np.float32)
            half = np.arange(len(self.j), dtype=np.int32)[: self.at[n // 2]]  # springs in some rows, scalars in others
            self.blocks[len(half) :, :3] = 0.0
            self.blocks[self.mirror[: len(half)], :3] = self.blocks[: len(half), :3]
            self.pairs = unturned(self.blocks)
            spring = (self.blocks[:, :3] != 0).any(axis=1)
            row = np.repeat(np.arange(n), np.diff(self.at))
            spring_at = np.concatenate([[0], np.cumsum(np.bincount(row[spring], minlength=n))]).astype(np.int32)
            still = np.bincount(row, np.where(spring, 0, self.blocks[:, 3]), minlength=n).astype(np.float32)
            own = {"spring_at": spring_at, "entry": np.flatnonzero(spring).astype(np.int32), "still": still}
            run(galerkin.factor_turned, n, **own, blocks=self.blocks, ties=self.ties, factors=self.factors)
        else:
            m = unturned(u)
            lean(self, m, rng)
            self.blocks = wrapped(m)
            self.pairs = unwrapped(self.blocks)
            own = {"row_at": self.at, "tie_shift": np.zeros(1, np.float32)}
            run(galerkin.factor_wrapped, n, **own, blocks=self.blocks, ties=self.ties, factors=self.factors)
        self.matrix = dense(self.at, self.j, self.pairs, symmetric(self.ties))
        self.r, self.e, self.left = (to_rows(rng.normal(size=(n, 3))) for _ in range(3))
        self.arrays = {"row_at": self.at, "middle": self.middle, "j": self.j, "blocks": self.blocks}
        self.arrays |= {"factors": self.factors, "r": self.r, "e": self.e, "left": self.left}

    def kernel(self, name):
        return getattr(multigrid, f"{name}_{self.form}")

    def run(self, kernel, items=None, **more):
        """With those of the own arrays that the kernel takes, and more."""
        run(kernel, self.n if items is None else items, **{**kernel.select(self.arrays), **more})


@pytest.fixture(params=["turned", "wrapped"])
def problem(request):
    return Problem(request.param)


def flat(rows):
    return rows[:, :3].astype(np.float64).ravel()


def close(found, expected, matrix, x, factor=100):
    """To rounding of a product with `matrix`: EPS32 |H| |x|, and what a diagonal block's condition makes of it."""
    size = np.abs(matrix) @ np.abs(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=factor * EPS32 * size.max())


def test_factors_are_those_of_the_diagonal(problem):
    lower, inverse = problem.factors[0::2].astype(np.float64), problem.factors[1::2].astype(np.float64)
    for i in range(problem.n):
        a, b, c = lower[i, :3]
        left = np.array([[1, 0, 0], [a, 1, 0], [b, c, 1]])
        own = problem.matrix[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]
        np.testing.assert_allclose(left @ np.diag(1 / inverse[i, :3]) @ left.T, own, atol=20 * EPS32 * np.trace(own))
        assert (inverse[i, :3] > 0).all()


def test_factors_of_a_sheet_stay_positive():
    """Two stiff directions and one that is 1e9 times as soft, in a frame of their own: L D Lᵀ keeps the soft one."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        u = np.zeros((6, 4))
        u[:, :3] = (rng.normal(size=(6, 2)) * 1e3) @ q[:, :2].T
        u = u.astype(np.float32)
        factors, ties = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)
        ties[0, :3] = 1e-3
        rows = {"spring_at": np.array([0, 6], np.int32), "entry": np.arange(6, dtype=np.int32), "blocks": u}
        run(galerkin.factor_turned, 1, **rows, ties=ties, still=np.zeros(1, np.float32), factors=factors)
        true = 1e-3 * np.eye(3) + unturned(u).sum(axis=0)
        a, b, c = factors[0, :3].astype(np.float64)
        left = np.array([[1, 0, 0], [a, 1, 0], [b, c, 1]])
        found = np.linalg.inv(left).T @ np.diag(factors[1, :3].astype(np.float64)) @ np.linalg.inv(left)
        assert np.linalg.eigvalsh(found).min() > 0
        soft = np.linalg.eigvalsh(true)[0]
        assert np.linalg.eigvalsh(found)[-1] == pytest.approx(1 / soft, rel=1e-3)


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


# --- curvature --------------------------------------------------------------------------------------------------------


def springs(m=24, n=10, seed=2):
    rng = np.random.default_rng(seed)
    first, second = np.zeros((2, m), np.int32)
    for e in range(m):
        first[e], second[e] = rng.choice(n, 2, replace=False)
    w, l0 = 10 ** rng.uniform(0, 4, m), rng.uniform(0.2, 2, m)
    return first, second, w.astype(np.float32), (w * l0).astype(np.float32), rng


def spring_block(d, w, wl):
    size = max(np.linalg.norm(d), 1e-10)
    across = max(w - wl / size, 0.0)
    return across * np.eye(3) + (w - across) * np.outer(d, d) / size**2


def test_turned_springs():
    """K = c I + (w - c) d̂d̂ᵀ, c = max(w - w l/|d|, 0); a pair of coincident vertices has a direction of zero."""
    first, second, w, wl, rng = springs()
    q = to_rows(rng.normal(size=(10, 3)))
    q[second[0]] = q[first[0]]
    rest = rng.random(len(w)).astype(np.float32)
    entry = np.arange(len(w), dtype=np.int32)
    out = np.full((2 * len(w), 4), np.nan, np.float32)
    ends = {"first": first, "second": second, "entry": entry, "mirror": entry + np.int32(len(w))}
    run(galerkin.turn_springs, len(w), **ends, w=w, wl=wl, rest=rest, q=q, blocks=out)
    np.testing.assert_array_equal(out[: len(w)], out[len(w) :])
    for e in range(len(w)):
        d = (q[first[e], :3] - q[second[e], :3]).astype(np.float64)
        expected = spring_block(d, float(w[e]), float(wl[e])) + float(rest[e]) * np.eye(3)
        if not d.any():
            expected = float(rest[e]) * np.eye(3)
        np.testing.assert_allclose(unturned(out[e : e + 1])[0], expected, rtol=0, atol=20 * EPS32 * (w[e] + rest[e]))


@pytest.mark.parametrize("size", [1e-3, 0.1, 10.0])
def test_change_of_the_springs_energy_is_exact(size):
    """ΔE = (f_old + f)·(q - q_old)/2 - Σ w l (|d| - |d_old|) |d̂ - d̂_old|²/4, f the gradients of w/2 (|d| - l)²."""
    first, second, w, wl, rng = springs()
    old = rng.normal(size=(10, 3))
    q_old, q = to_rows(old), to_rows(old + size * rng.normal(size=(10, 3)))
    partial = np.zeros(blocks(len(w)))
    run(galerkin.turning_blocks, len(w), first=first, second=second, wl=wl, q=q, q_old=q_old, partial=partial)

    def at(x):
        d = (x[first, :3] - x[second, :3]).astype(np.float64)
        length = np.linalg.norm(d, axis=1)
        stretched = length - wl / w.astype(np.float64)
        return 0.5 * w * stretched**2, (w * stretched / length)[:, None] * d, d

    energy, force, d = at(q)
    energy_old, force_old, d_old = at(q_old)
    rule = 0.5 * np.sum((force + force_old) * (d - d_old))
    change = energy.sum() - energy_old.sum()
    scale = np.sum(wl * np.abs(np.linalg.norm(d, axis=1) - np.linalg.norm(d_old, axis=1)))
    assert rule - partial.sum() == pytest.approx(change, abs=20 * EPS32 * scale)


@pytest.mark.parametrize("corners", [1, 4])
def test_forces_are_the_right_hand_sides_less_the_diagonal(corners):
    """b_k - w |a_k| Σ|a| x_k, of `pull_contacts` and `pull_walls`, to what they round."""
    rng = np.random.default_rng(6)
    m, n = 7, 12
    vertices = np.array([rng.choice(n, corners, replace=False) for _ in range(m)], np.int32)
    a = np.ones((m, 1)) if corners == 1 else np.column_stack([np.ones(m), -rng.dirichlet(np.ones(3), m)])
    q, before = to_rows(rng.normal(size=(n, 3))), to_rows(rng.normal(size=(m, 3)))
    planes = to_rows(rng.normal(size=(m, 3)))
    planes[:, :3] /= np.linalg.norm(planes[:, :3], axis=1, keepdims=True)
    planes[:, 3] = 0.5
    friction, w = np.tile(np.float32([0.5, 0.3]), m), rng.random(m).astype(np.float32)
    slots = np.arange(m * corners, dtype=np.int32)
    out = np.zeros((2, m * corners, 4), np.float32)
    pulls = (
        (contact.pull_contacts, contacts.contact_forces) if corners == 4 else (contact.pull_walls, contacts.wall_forces)
    )
    for kernel, to in zip(pulls, out, strict=True):
        table = {"vertices": vertices, "a": a.astype(np.float32), "planes": planes, "before": before}
        table |= {"friction": friction, "weights": w, "slots": slots, "q": q, "out": to, "used": np.array([m])}
        run(kernel, m, **kernel.select(table))
    size = (w[:, None] * np.abs(a) * np.abs(a).sum(axis=1, keepdims=True)).ravel()
    np.testing.assert_allclose(out[1], out[0] - size[:, None] * q[vertices.ravel()], rtol=0, atol=50 * EPS32)
    assert np.abs(out[1]).max() > 0


class Touching:
    """Contacts of one vertex or four, some apart, some that hold and some that slip; not all of the room is used."""

    def __init__(self, corners, m=40, n=24, seed=4, unused=3):
        rng = self.rng = np.random.default_rng(seed)
        self.corners, self.m, self.n, self.used = corners, m, n, m - unused
        self.vertices = np.array([rng.choice(n, corners, replace=False) for _ in range(m)], np.int32)
        point, (t, r) = np.column_stack([np.ones(m), -rng.dirichlet(np.ones(3), m)]), rng.random((2, m))
        edges = np.column_stack([1 - t, t, r - 1, -r])
        a = np.where(np.arange(m)[:, None] % 2, edges, point) if corners == 4 else np.ones((m, 1))
        self.a, self.q = a.astype(np.float32), rng.normal(size=(n, 4)).astype(np.float32)
        normals = rng.normal(size=(m, 3))
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        depth = rng.uniform(0.05, 1.0, m) * np.where(np.arange(m) % 4, 1, -1)
        offset = np.einsum("mc,mc->m", normals, self.z(self.q)) + depth
        self.planes = np.column_stack([normals, offset]).astype(np.float32)
        self.before = to_rows(self.z(self.q) - rng.normal(size=(m, 3)) * rng.choice([0.03, 1.0], (m, 1)))
        self.friction = np.tile(np.float32([0.5, 0.3]), m)
        self.weights = (10 ** rng.uniform(0, 3, m)).astype(np.float32)
        self.slot_at, _, places = list_corners(self.vertices[: self.used].ravel(), n)
        self.places = np.concatenate([places, np.zeros((m - self.used) * corners, np.int32)])
        self.slots = np.full((self.used * corners, 4), np.nan, np.float32)
        self.turned, self.count = np.full((m, 4), np.nan, np.float32), np.array([self.used])

    def run(self, pair, wall, **arrays):
        """The kernel for pairs or for walls, with those of the own arrays that it takes, and others."""
        kernel = getattr(contacts, pair if self.corners == 4 else wall)
        own = {"vertices": self.vertices, "a": self.a, "planes": self.planes, "before": self.before}
        own |= {"friction": self.friction, "weights": self.weights, "slots": self.places, "q": self.q}
        own |= {"used": self.count, "turned": self.turned}
        run(kernel, self.m, **{**kernel.select(own), **arrays})

    def z(self, q):
        """Σ a_k x_k, (m, 3)"""
        return np.einsum("mk,mkc->mc", self.a.astype(np.float64), q[self.vertices, :3].astype(np.float64))

    def depth(self, q):
        planes = self.planes.astype(np.float64)
        return planes[:, 3] - np.einsum("mc,mc->m", planes[:, :3], self.z(q))

    def turn(self):
        self.run("turn_contacts", "turn_walls", out=self.slots)

    def curvature(self):
        """w [n nᵀ + t (I - n nᵀ)] of those that are used, and what they do."""
        out, does, depth, z = np.zeros((self.used, 3, 3)), [], self.depth(self.q), self.z(self.q)
        for c in range(self.used):
            n = self.planes[c, :3].astype(np.float64)
            u = z[c] - self.before[c, :3]
            size = np.linalg.norm(u - (n @ u) * n)
            t = 0.0 if depth[c] < 0 else 1.0 if size <= 0.5 * depth[c] else 0.3 * depth[c] / size
            does.append("apart" if depth[c] < 0 else "holds" if t == 1 else "slips")
            out[c] = self.weights[c] * (np.outer(n, n) + t * (np.eye(3) - np.outer(n, n)))
        return out, does

    def matrix(self):
        """a_k a_l times the curvatures, over all vertices."""
        out = np.zeros((self.n, 3, self.n, 3))
        for c, own in enumerate(self.curvature()[0]):
            for k, v in enumerate(self.vertices[c]):
                for other, u in enumerate(self.vertices[c]):
                    out[v, :, u] += float(self.a[c, k]) * float(self.a[c, other]) * own
        return out.reshape(3 * self.n, 3 * self.n)


@pytest.fixture(params=[1, 4], ids=["walls", "pairs"])
def touching(request):
    return Touching(request.param)


def test_curvature_of_contacts(touching):
    """s I + u uᵀ = w [n nᵀ + t (I - n nᵀ)], t = 1 up to |u| = μ_s depth, μ_k depth/|u| beyond, 0 where they are apart.

    Slots have |a_k| Σ|a| of it.
    """
    touching.turn()
    expected, does = touching.curvature()
    assert min(does.count(kind) for kind in ("apart", "holds", "slips")) > 5
    a = np.abs(touching.a).astype(np.float64)
    for c in range(touching.used):
        atol = 100 * EPS32 * float(touching.weights[c])
        np.testing.assert_allclose(unturned(touching.turned[c : c + 1])[0], expected[c], rtol=0, atol=atol)
        for k in range(touching.corners):
            slot, share = touching.places[touching.corners * c + k], a[c, k] * a[c].sum()
            found = unturned(touching.slots[slot : slot + 1])[0]
            np.testing.assert_allclose(found, share * expected[c], rtol=0, atol=atol * share)
    assert np.isnan(touching.turned[touching.used :]).all()


def test_ties_lie_above_the_contacts(touching):
    """T_i = tie_i I + Σ |a_k| Σ|a_l| C of the corners at vertex i, and T - tie I - Σ a_k a_l C is semidefinite."""
    tie, ties = touching.rng.random(touching.n).astype(np.float32), np.full((2 * touching.n, 4), np.nan, np.float32)
    touching.turn()
    run(contacts.hold_ties, touching.n, tie=tie, slot_at=touching.slot_at, slots=touching.slots, ties=ties)
    expected, a = tie[:, None, None] * np.eye(3), np.abs(touching.a).astype(np.float64)
    for c, own in enumerate(touching.curvature()[0]):
        for k, v in enumerate(touching.vertices[c]):
            expected[v] += a[c, k] * a[c].sum() * own
    scale = np.abs(expected).max()
    np.testing.assert_allclose(symmetric(ties), expected, rtol=0, atol=100 * EPS32 * scale)
    assert (ties[:, 3] == 0).all()
    exact = touching.matrix()
    above = -exact
    for i in range(touching.n):
        above[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += symmetric(ties)[i] - tie[i] * np.eye(3)
    assert np.linalg.eigvalsh(above)[0] >= -100 * EPS32 * scale
    assert np.linalg.eigvalsh(exact)[-1] > 0.1 * scale


def test_ties_without_contacts():
    """T_i = tie_i I."""
    tie = np.random.default_rng(0).random(9).astype(np.float32)
    ties = np.full((18, 4), np.nan, np.float32)
    slots = np.full((1, 4), np.nan, np.float32)
    run(contacts.hold_ties, 9, tie=tie, slot_at=np.zeros(10, np.int32), slots=slots, ties=ties)
    np.testing.assert_array_equal(symmetric(ties), tie[:, None, None] * np.eye(3))
    assert (ties[:, 3] == 0).all()


def test_products_of_contacts(touching):
    """Slots of vertex i add up to Σ_l a_k a_l C p_l: the contacts' part of H p, four vertices coupled."""
    touching.turn()
    p, out = to_rows(touching.rng.normal(size=(touching.n, 3))), np.full_like(touching.slots, np.nan)
    touching.run("contact_products", "wall_products", p=p, out=out)
    matrix = touching.matrix()
    ends = touching.slot_at
    found = np.array([out[ends[i] : ends[i + 1], :3].sum(axis=0, dtype=np.float64) for i in range(touching.n)])
    close(found.ravel(), matrix @ flat(p), matrix, flat(p))
    assert (out[:, 3] == 0).all()
    if touching.corners == 4:  # nothing where all move alike
        p[:, :3] = [1, 2, 3]
        touching.run("contact_products", "wall_products", p=p, out=out)
        assert np.abs(out).max() <= 10 * EPS32 * touching.weights.max()


@pytest.mark.parametrize("corners", [1, 4], ids=["walls", "pairs"])
def test_gains_of_contacts(corners):
    """-(f + f_old)·(z - z_old)/2 - w (δ⁺² - δ_old⁺²)/2, f = w δ⁺ n: of what opens or closes, nothing of the rest."""
    touching = Touching(corners, m=3 * BLOCK - 20, unused=BLOCK + 7)
    q_old = touching.q
    q = (q_old + 0.7 * touching.rng.normal(size=q_old.shape)).astype(np.float32)
    w, normals = touching.weights.astype(np.float64), touching.planes[:, :3].astype(np.float64)
    new, old = touching.depth(q), touching.depth(q_old)
    kinds = 2 * (old > 0) + (new > 0)
    assert np.bincount(kinds[: touching.used], minlength=4).min() > 2  # stay apart, close, open, stay in touch
    forces = [(w * np.maximum(depth, 0))[:, None] * normals for depth in (new, old)]
    rule = -0.5 * np.einsum("mc,mc->m", forces[0] + forces[1], touching.z(q) - touching.z(q_old))
    expected = rule - 0.5 * w * (np.maximum(new, 0) ** 2 - np.maximum(old, 0) ** 2)
    assert (expected[kinds == 1] > 0).all()
    assert (expected[kinds == 2] < 0).all()
    expected[touching.used :] = 0
    results = []
    for threads in (1, 2):
        partial = np.full(blocks(touching.m), np.nan)
        more = {"threads": threads, "grain": BLOCK}
        touching.run("contact_gains", "wall_gains", q=q, q_old=q_old, partial=partial, **more)
        results.append(partial)
    np.testing.assert_array_equal(*results)
    assert (partial != 0).tolist() == [True, True, False]  # the last is room that no contact uses
    rounding = 16 * EPS32 * w * (np.abs(new) + np.abs(old))
    sums, atol = (np.add.reduceat(part, range(0, touching.m, BLOCK)) for part in (expected, rounding))
    assert (np.abs(partial - sums) <= atol).all()


def tetrahedra(m=5, n=9, seed=3):
    rng = np.random.default_rng(seed)
    vertices = np.array([rng.choice(n, 4, replace=False) for _ in range(m)], np.int32)
    a = rng.normal(size=(m, 3, 4))
    a[:, :, 0] = -a[:, :, 1:].sum(axis=2)
    return vertices, a.astype(np.float32), (1 + rng.random(m)).astype(np.float32), rng


def test_blocks_of_tetrahedra():
    """tet-strain: [(s_k·s_l) I + s_l s_kᵀ]/2w of the shares s; tet-volume: v_k v_lᵀ, v_k = √w cof F a_k / |cof F|."""
    vertices, a, w, rng = tetrahedra()
    m, n = len(vertices), 9
    q = to_rows(rng.normal(size=(n, 3)))
    shares, normals = to_rows(rng.normal(size=(4 * m, 3))), np.zeros((4 * m, 4), np.float32)
    run(galerkin.volume_normals, m, vertices=vertices, operator=a, weights=w, q=q, normals=normals)
    expected = np.zeros((n, n, 3, 3))
    for t in range(m):
        f = (a[t].astype(np.float64) @ q[vertices[t], :3]).T
        cof = np.linalg.det(f) * np.linalg.inv(f).T
        v = np.sqrt(w[t]) * cof @ a[t] / np.linalg.norm(cof)
        np.testing.assert_allclose(normals[4 * t : 4 * t + 4, :3], v.T, rtol=0, atol=1e-4 * np.abs(v).max())
        s = shares[4 * t : 4 * t + 4, :3].astype(np.float64)
        for k in range(4):
            for other in range(4):
                own = (s[k] @ s[other] * np.eye(3) + np.outer(s[other], s[k])) / (2 * w[t])
                expected[vertices[t, k], vertices[t, other]] += own + np.outer(v[:, k], v[:, other])
    near = np.abs(expected).sum(axis=(2, 3)) > 0
    np.fill_diagonal(near, False)
    at = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int32)
    j = np.nonzero(near)[1].astype(np.int32)
    middle, mirror = sort_rows(at, j, np.zeros(len(j), np.float32)), mirrors(at, j)
    none, out = np.zeros(len(j), np.float32), np.zeros((3 * len(j), 4), np.float32)
    places = np.arange(4 * m, dtype=np.int32).reshape(m, 4)
    strain = corner_lists(at, j, vertices, places, 0.5 / w)
    volume = corner_lists(at, j, vertices, places, np.zeros(m, np.float32))[:3]
    arrays = {"row_at": at, "middle": middle, "j": j, "mirror": mirror, "rest": none, "w": none, "wl": none}
    arrays |= dict(zip(("corner_at", "here", "there", "scales"), strain, strict=True))
    arrays |= dict(zip(("volume_at", "near", "far"), volume, strict=True))
    run(galerkin.wrap_entries, n, **arrays, q=q, blocks=out, shares=shares, normals=normals)
    found = unwrapped(out)
    for i in range(n):
        for k in range(at[i], at[i + 1]):
            np.testing.assert_allclose(found[k], -expected[i, j[k]], rtol=0, atol=1e-5 * np.abs(expected).max())


# --- coarse matrices --------------------------------------------------------------------------------------------------


def prolongation(n, nodes, rng, loose=2):
    """Rows of one to three weights that add up to one, but for a few vertices that belong nowhere."""
    p = np.zeros((n, nodes))
    for i in range(n):
        some = rng.choice(nodes, rng.integers(1, 4), replace=False)
        p[i, some] = rng.random(len(some)) + 0.1
        p[i] /= p[i].sum()
    p[rng.choice(n, loose, replace=False)] = 0.0
    at = np.concatenate([[0], np.cumsum((p != 0).sum(axis=1))]).astype(np.int32)
    return p, (at, np.nonzero(p)[1].astype(np.int32), p[p != 0])


@pytest.mark.parametrize("loose", [0, 2])
def test_coarse_matrices(problem, loose):
    """K_IJ and T_I make PᵀHP; what vertices outside of all aggregates hold goes into the ties."""
    rng = np.random.default_rng(5)
    n, nodes = problem.n, 8
    p, triple = prolongation(n, nodes, rng, loose)
    full = dense(problem.at, problem.j, problem.pairs, symmetric(problem.ties))
    expected = np.kron(p, np.eye(3)).T @ full @ np.kron(p, np.eye(3))
    near = np.abs(p).T @ (np.abs(full[::3, ::3]) + np.abs(full[::3, 1::3]) + np.eye(n) > 0) @ np.abs(p) > 0
    np.fill_diagonal(near, False)
    at = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int32)
    j = np.nonzero(near)[1].astype(np.int32)
    middle, mirror = sort_rows(at, j, np.zeros(len(j), np.float32)), mirrors(at, j)
    sums = p.sum(axis=1).round(12)
    fine, same = (problem.at, problem.middle, problem.j), problem.form == "turned"
    down = np.nonzero(p.T)
    weights = (p * sums[:, None]).T[down].astype(np.float32)
    down_at = np.concatenate([[0], np.cumsum((p != 0).sum(axis=0))]).astype(np.int32)
    lists = {
        "pair": pair_lists(*fine, problem.mirror, np.ones(len(problem.j), bool), *triple, at, j, same),
        "held": tie_lists(*triple, at, j),
        "down": (down_at, down[1].astype(np.int32), weights),
        "loose": loose_lists(*fine, *triple, sums, nodes),
    }
    out, ties = np.zeros((3 * len(j), 4), np.float32), np.zeros((2 * nodes, 4), np.float32)
    arrays = {"row_at": at, "middle": middle, "mirror": mirror, "blocks": out, "ties": ties}
    arrays |= {"fine": problem.blocks, "fine_ties": problem.ties}
    for name, (first, number, weight) in lists.items():
        arrays |= {f"{name}_at": first, name: number, f"{name}_w": weight}
    if same:
        arrays["still"] = np.zeros(len(j), np.float32)
    results = []
    for threads in (1, 2):
        run(getattr(galerkin, f"coarsen_{problem.form}"), nodes, **arrays, threads=threads, chunks=3)
        results.append(out.tobytes() + ties.tobytes())
    assert results[0] == results[1]
    found = dense(at, j, unwrapped(out), symmetric(ties))
    for i in range(nodes):  # where vertices outside lean on a node, its row does not: factors are of the symmetric part
        own = slice(3 * i, 3 * i + 3)
        found[own, own] = 0.5 * (found[own, own] + found[own, own].T)
    np.testing.assert_allclose(found, expected, rtol=0, atol=50 * EPS32 * np.abs(full).max() * n / nodes)
