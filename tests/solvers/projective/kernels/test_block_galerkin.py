"""Blocks of the Hessian, factors of the diagonal, coarse matrices: each kernel against dense float64 arithmetic."""

import numpy as np
import pytest

from kernel_twins import EPS32, blocks, to_rows
from solvers.projective.kernels.block_twins import Problem, dense, run, symmetric, unturned, unwrapped
from vivace.energy.kernels.assemble import sort_rows
from vivace.solvers.projective.kernels import block_galerkin as galerkin
from vivace.solvers.projective.kernels.block_lists import corner_lists, loose_lists, mirrors, pair_lists, tie_lists


@pytest.fixture(params=["turned", "wrapped"])
def problem(request):
    return Problem(request.param)


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


def tetrahedra(m=5, n=9, seed=3):
    rng = np.random.default_rng(seed)
    vertices = np.array([rng.choice(n, 4, replace=False) for _ in range(m)], np.int32)
    a = rng.normal(size=(m, 3, 4))
    a[:, :, 0] = -a[:, :, 1:].sum(axis=2)
    return vertices, a.astype(np.float32), (1 + rng.random(m)).astype(np.float32), rng


@pytest.mark.slow
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
        "pair": pair_lists(*fine, np.ones(len(problem.j), bool), *triple, at, j, same, 1 if same else 2),
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
