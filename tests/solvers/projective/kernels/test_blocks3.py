"""The Newton sweep against its equations in float64, vertex by vertex, and its blocks against finite differences.

As for the other sweeps, the twin reads the kernel's own output for the vertices before i: no error is carried along.
"""

from __future__ import annotations

import numpy as np
import pytest

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32
from vivace.backends.cpu.arguments import floats, ints, phase_kernel, rows
from vivace.backends.cpu.executor import Plan
from vivace.backends.cpu.simd import load4, splat4, store4
from vivace.solvers import make_solver
from vivace.solvers.projective.kernels.blocks3 import block, sweep_blocks

N = 60


class Rows:
    """Random rows: 0 to 8 springs of all lengths, padded to fours, 0 to 5 other neighbours and 0 to 3 shares a vertex.

    `flat`: nearly in a plane and pulled out of it, where a Newton step goes too far.
    """

    def __init__(self, flat=False):
        rng = np.random.default_rng(0)

        def rows(counts):
            return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

        def neighbours(counts):
            picks = [rng.choice(np.delete(np.arange(N), i), k, replace=False) for i, k in enumerate(counts)]
            return np.concatenate(picks).astype(np.int32)

        def values(count, low, high):
            return rng.uniform(low, high, count).astype(np.float32)

        springs, others, shares = np.arange(N) % 9, np.arange(N) // 10, np.arange(N) % 4
        self.spring_at, padded = rows(springs), (springs + 3) // 4 * 4
        self.spring_j, m = neighbours(springs), int(springs.sum())
        self.w, self.length = values(m, 1e3, 1e4), values(m, 0.5, 4.0)
        self.wl = (self.w * self.length).astype(np.float32)
        self.a = (self.w + values(m, 0.0, 100.0)).astype(np.float32)
        to = np.concatenate([start + np.arange(k) for start, k in zip(rows(padded)[:-1], springs, strict=True)])
        self.padded = {"spring_at": rows(padded), "spring_j": np.repeat(np.arange(N, dtype=np.int32), padded)}
        self.padded["spring_j"][to] = self.spring_j
        for name, value in (("spring_a", self.a), ("spring_wl", self.wl), ("spring_w", self.w)):
            self.padded[name] = np.zeros(int(padded.sum()), np.float32)
            self.padded[name][to] = value
        self.others = (rows(others), neighbours(others), values(int(others.sum()), 1.0, 100.0))
        self.slot_at = rows(shares)
        self.shares = twins.to_rows(100.0 * rng.standard_normal((int(shares.sum()), 3)))
        self.scales = values(int(shares.sum()), 0.0, 0.2)
        self.tie = values(N, 1.0, 10.0)
        self.even, diagonal = np.zeros(N, np.float32), np.zeros(N)
        for i in range(N):
            s, o, c = self.at(i)
            half = float(self.scales[c] @ np.sum(self.shares[c, :3].astype(np.float64) ** 2, axis=1))
            self.even[i] = float(self.tie[i]) + self.others[2][o].sum(dtype=np.float64) + half
            diagonal[i] = float(self.even[i]) + self.w[s].sum(dtype=np.float64) + half
        self.inverse = (1 / diagonal).astype(np.float32)
        self.diagonal = 1 / self.inverse.astype(np.float64)
        self.q = twins.to_rows(rng.standard_normal((N, 3)))
        self.base = twins.to_rows(self.tie[:, None] * rng.standard_normal((N, 3)))
        self.square = np.zeros(N, np.float32)
        if flat:
            self.q[:, 2] *= 1e-3
            self.base[:, 2] += 1e3

    def at(self, i):
        ends = (self.spring_at, self.others[0], self.slot_at)
        return [slice(int(a[i]), int(a[i + 1])) for a in ends]

    def run(self, dampings, omega=1.0, iterations=1):
        phase = sweep_blocks.over(
            *(0, N),
            **self.padded,
            **dict(zip(("other_at", "other_j", "other_a"), self.others, strict=True)),
            tie=self.tie,
            inverse=self.inverse,
            base=self.base,
            q=self.q,
            square=self.square,
            omega=np.array([omega], np.float32),
            dampings=np.atleast_1d(np.asarray(dampings, np.float32)),
            even_part=self.even,
            slot_at=self.slot_at,
            shares=self.shares,
            scales=self.scales,
            serial=True,
        )
        Plan([phase], 1).run(iterations)

    def block(self, i, q):
        """B of the docstring in float64."""
        s, _, c = self.at(i)
        total = float(self.even[i]) * np.eye(3)
        for j, w, wl in zip(self.spring_j[s], self.w[s], self.wl[s], strict=True):
            d = (q[i] - q[j])[:3].astype(np.float64)
            size = max(np.linalg.norm(d), twins.SMALLEST_LENGTH)
            t = min(float(w), float(wl) / size)
            total += (float(w) - t) * np.eye(3) + t * np.outer(d, d) / size**2
        for share, scale in zip(self.shares[c, :3].astype(np.float64), self.scales[c], strict=True):
            total += float(scale) * np.outer(share, share)
        return total

    def gain(self, i, q, r, p):
        """By how much p lowers the energy over vertex i: r·p - Y_ii/2 |p|² + Σ w l (|d + p| - |d| - d̂·p)."""
        s = self.at(i)[0]
        total = r @ p - 0.5 * self.diagonal[i] * p @ p
        for j, wl in zip(self.spring_j[s], self.wl[s], strict=True):
            d = (q[i] - q[j])[:3].astype(np.float64)
            size = max(np.linalg.norm(d), twins.SMALLEST_LENGTH)
            total += float(wl) * (np.linalg.norm(d + p) - size - d @ p / size)
        return total


@pytest.mark.parametrize("omega", [1.0, 0.6])
@pytest.mark.parametrize("theta", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("flat", [False, True])
def test_sweep(flat, theta, omega):
    """p = ω ((1 - θ) B + θ Y_ii I)⁻¹ r where that lowers the vertex's energy, else ω r / Y_ii.

    In units of Y_ii the block is known to m u for m terms and its cofactors to a few u; its smallest eigenvalue is θ
    and its determinant at least θ²/3, so |dp| <= |dr|/(θ Y_ii) + 3 (m + 8) u/θ² |p|. Steps past the other end of a
    spring may be refused although they descend.
    """
    data = Rows(flat)
    before = data.q.copy()
    data.run(theta, omega)
    kinds = {"newton": 0, "plain": 0}
    spring_rows = (data.spring_at, data.spring_j, data.a, data.wl, *data.others)
    for i in range(N):
        q = np.concatenate([data.q[:i], before[i:]])
        r, size, terms = twins.residual(i, spring_rows, data.tie, data.base, q)
        rounding = twins.residual_tolerance(size, terms)
        assert abs(np.sqrt(float(data.square[i])) - np.linalg.norm(r)) <= rounding + 2 * EPS32 * np.linalg.norm(r)
        y = data.diagonal[i]
        newton = omega * np.linalg.solve((1 - theta) * data.block(i, q) + theta * y * np.eye(3), r)
        plain, moved = omega * r / y, data.q[i, :3].astype(np.float64) - before[i, :3]
        bound = rounding / (theta * y) + 3 * (terms + 8) * EPS32 / theta**2 * np.linalg.norm(newton) + EPS32 * 8
        is_newton, is_plain = (np.linalg.norm(moved - step) <= bound for step in (newton, plain))
        assert is_newton or is_plain
        gain, doubt = data.gain(i, q, r, newton), 2 * (np.linalg.norm(r) + y * np.linalg.norm(newton)) * bound
        if is_newton and not is_plain:
            kinds["newton"] += 1
            assert gain >= -doubt
        elif is_plain and not is_newton:
            kinds["plain"] += 1
            s = data.at(i)[0]
            d = (q[i] - q[data.spring_j[s]])[:, :3].astype(np.float64)
            passes = (np.einsum("ec,c->e", d, newton) < -np.einsum("ec,ec->e", d, d)).any()
            assert gain <= doubt or passes
    assert not data.q[:, 3].any()
    if theta < 0.1:  # both ways are met
        assert kinds["plain" if flat else "newton"] > 0


def test_dampings_in_turn():
    """Sweep k is damped by θ_k, and the last holds for all later sweeps."""
    together, apart = Rows(), Rows()
    together.run([1.0, 0.1], iterations=4)
    for theta in (1.0, 0.1, 0.1, 0.1):
        apart.run(theta)
    assert np.array_equal(together.q, apart.q)
    assert np.array_equal(together.square, apart.square)


@pytest.mark.parametrize("theta", [1e-3, 0.1])
def test_degenerate_input_gives_finite_results(theta):
    """Coincident vertices, springs along one line, and vertices 1e15 m apart."""
    for change in (0.0, [1.0, 0.0, 0.0, 0.0], 1e15):
        data = Rows()
        data.q *= np.float32(change)
        data.run(theta, iterations=3)
        assert np.isfinite(data.q).all()


@phase_kernel(items="q", cache=False)
def store_block(
    begin, end, iteration, spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, spring_w: floats,
    slot_at: ints, shares: rows, scales: floats, q: rows, even_part: floats, to_diagonal: rows, to_off: rows,
):  # fmt: skip
    """What `block` gives, with the even part on the diagonal."""
    for i in range(begin, end):
        _, diagonal, off, even = block(
            i, load4(q, i), spring_at, spring_j, spring_a, spring_wl, spring_w, slot_at, shares, scales, q
        )
        store4(to_diagonal, i, diagonal + splat4(even + even_part[i]))
        store4(to_off, i, off)


def blocks_at(system, q):
    """B of every vertex (n, 3, 3) in the order of the mesh, from the kernel."""
    solver = make_solver("block-descent")
    solver.prepare(system, threads=1, seed=0)
    layout = solver.layout
    layout.load(twins.to_rows(q), np.zeros((system.n, 4), np.float32))
    arrays = solver.sweep_phases(layout)[0].arrays
    diagonal, off = (np.zeros((system.n, 4), np.float32) for _ in range(2))
    phase = store_block.over(0, system.n, **store_block.select(arrays), to_diagonal=diagonal, to_off=off)
    Plan([*layout.local_phases, phase], 1).run()
    out = np.zeros((system.n, 3, 3))
    xy, yz, zx = off.astype(np.float64).T[:3]
    out[layout.order] = np.stack([diagonal[:, 0], xy, zx, xy, diagonal[:, 1], yz, zx, yz, diagonal[:, 2]], 1).reshape(
        -1, 3, 3
    )
    return out


def hessian_blocks(system, frame, q, step):
    """∂²ε/∂q_i² by central differences of the gradient; the error is O(step²)."""
    out = np.zeros((system.n, 3, 3))
    for i in range(system.n):
        for c in range(3):
            moved = q.copy()
            moved[i, c] = q[i, c] + step
            ahead = system.gradient(moved, frame)[i]
            moved[i, c] = q[i, c] - step
            out[i, :, c] = (ahead - system.gradient(moved, frame)[i]) / (2 * step)
    return out


def cloth_system():
    model = vv.Model.of(vv.mesh.cloth(5, 4), vv.Cloth(stretch=1e3, bend=1e-2), air=0.5, viscosity=0.01).pin("top")
    return vv.System(model, 1 / 60)


def at_rest(system, q):
    return vv.Frame(q, q, q, system.model.targets)


@pytest.mark.slow
def test_block_of_stretched_cloth_is_the_hessian():
    """Springs longer than at rest, hinges, pins and both dampings: nothing is clamped, B = ∂²ε/∂q_i².

    The difference quotient errs by step²/|d|² of Y_ii, the kernel by the rounding of a few dozen terms.
    """
    system, rng = cloth_system(), np.random.default_rng(0)
    q = 1.5 * system.model.mesh.vertices + 0.01 * rng.standard_normal((system.n, 3))
    q = q.astype(np.float32).astype(np.float64)
    expected = hessian_blocks(system, at_rest(system, q), q, 1e-5)
    error = np.abs(blocks_at(system, q) - expected).max(axis=(1, 2)) / system.diagonal
    assert error.max() <= 64 * EPS32 + (1e-5 / 0.3) ** 2


@pytest.mark.slow
def test_block_of_crumpled_cloth_is_clamped():
    """0 <= B <= Y_ii, above the Hessian: the negative curvature of compressed springs is left out and no more."""
    system, rng = cloth_system(), np.random.default_rng(1)
    q = 0.7 * system.model.mesh.vertices + 0.05 * rng.standard_normal((system.n, 3))
    q = q.astype(np.float32).astype(np.float64)
    hessian = hessian_blocks(system, at_rest(system, q), q, 1e-6)
    assert np.linalg.eigvalsh(hessian).min() < 0  # the test can tell
    found, tolerance = blocks_at(system, q), 1e-5 * system.diagonal.max()
    assert np.linalg.eigvalsh(found).min() > 0
    assert (np.linalg.eigvalsh(found).max(axis=1) <= system.diagonal * (1 + 1e-5)).all()
    assert np.linalg.eigvalsh(found - hessian).min() >= -tolerance


def body_system():
    return vv.System(vv.Model.of(vv.mesh.bar(4, 3, 3), vv.Solid(youngs_modulus=5e4)).pin("left"), 1 / 30)


@pytest.mark.slow
def test_block_of_a_turned_body_is_the_hessian():
    """Without strain, linear elasticity in the frame of R is the Hessian of κ vol ‖F - R‖²."""
    system = body_system()
    angle = 0.8
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
    q = (system.model.mesh.vertices @ turn.T).astype(np.float32).astype(np.float64)
    expected = hessian_blocks(system, at_rest(system, q), q, 1e-6)
    error = np.abs(blocks_at(system, q) - expected).max(axis=(1, 2)) / system.diagonal
    assert error.max() <= 1e-5  # F is known to u |q|/edge, a few 1e-6 here


def test_block_of_a_strained_body_lies_between_half_and_all_of_y():
    """w/2 (|a|² I + R a aᵀ Rᵀ) has eigenvalues from w |a|²/2 to w |a|², flat and inverted tetrahedra included."""
    system, rng = body_system(), np.random.default_rng(2)
    for scale in ([1, 1, 1], [1, 1, 0], [-1, 1, 1], [0, 0, 0]):
        q = system.model.mesh.vertices * scale + 0.05 * rng.standard_normal((system.n, 3))
        values = np.linalg.eigvalsh(blocks_at(system, q)) / system.diagonal[:, None]
        assert values.min() >= 0.5 - 1e-5
        assert values.max() <= 1 + 1e-5
