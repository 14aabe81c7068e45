"""Contacts one by one in float64, and random ones to try kernels on.

Positions and gaps are of order 1 here, so that a separation is known to a few 2⁻²³ and so are N and T.
"""

from __future__ import annotations

import numpy as np

from kernel_twins import EPS32
from vivace.backends.cpu.arguments import Phase
from vivace.backends.cpu.executor import Plan
from vivace.solvers.position_based.kernels.contact import push_walls

SLACK = 32 * EPS32


def run(kernel, arrays, begin, end, iterations=1, first=0):
    """One thread over items [begin, end); `arrays` by the kernel's own names."""
    Plan([Phase(kernel, arrays, begin, end, serial=True)], 1).run(iterations, first=first)


def wide(rows):
    return np.asarray(rows, np.float64)


# --- the twin ---------------------------------------------------------------------------------------------------------


def push(z, plane, before, impulse, static, kinetic):
    """N ← max(0, N - (n·z - gap)); T ← T - u_t, shortened to μ_k N if longer than μ_s N. The motion, T and N."""
    z, plane, before, impulse = wide(z)[:3], wide(plane), wide(before)[:3], wide(impulse)
    n, gap, t, pushed = plane[:3], plane[3], impulse[:3], impulse[3]
    total = max(0.0, pushed - (n @ z - gap))
    u = z - before + (total - pushed) * n
    new = t - (u - (n @ u) * n)
    size = np.linalg.norm(new)
    if size > static * total:
        new = new * (kinetic * total / size)
    return (total - pushed) * n + new - t, np.append(new, total)


def pull(z, plane, before, static, kinetic):
    """p - z of projective dynamics: depth n, and back across it by u_t, or μ_k depth where that exceeds μ_s depth."""
    z, plane, before = wide(z)[:3], wide(plane), wide(before)[:3]
    n = plane[:3]
    depth = plane[3] - n @ z
    if depth <= 0:
        return np.zeros(3)
    u = z - before + depth * n
    u = u - (n @ u) * n
    size = np.linalg.norm(u)
    return depth * n - u * (1.0 if size <= static * depth else kinetic * depth / size)


def unit(rng, count):
    n = rng.normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=1, keepdims=True)


# --- vertices against walls -------------------------------------------------------------------------------------------


class Walls:
    """30 vertices with 0 to 3 walls each, near enough that about half are violated."""

    def __init__(self, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.n = 30
        self.vertices = np.repeat(np.arange(self.n), np.arange(self.n) % 4).astype(np.int32)
        self.m = len(self.vertices)
        first = np.flatnonzero(np.diff(self.vertices, prepend=-1))
        self.starts = np.append(first, self.m).astype(np.int32)
        self.q = rng.normal(size=(self.n, 4)).astype(np.float32)
        self.q[:, 3] = rng.uniform(0.5, 2, self.n)
        self.previous = (self.q + 0.1 * rng.normal(size=(self.n, 4))).astype(np.float32)
        normals = unit(rng, self.m)
        offset = np.einsum("mc,mc->m", normals, self.q[self.vertices, :3]) + 0.1 * rng.normal(size=self.m)
        self.planes = np.column_stack([normals, offset]).astype(np.float32)
        self.before = self.previous[self.vertices].copy()
        self.before[:, 3] = 0
        self.friction = np.sort(rng.uniform(0, 1, (self.m, 2)), axis=1)[:, ::-1].astype(np.float32).copy()
        self.impulses = np.zeros((self.m, 4), np.float32)
        self.recovery = np.linspace(0.005, 0.02, self.m).astype(np.float32)

    @property
    def table(self):
        """What `begin_walls`, `pull_walls` and the like share."""
        return {"vertices": self.vertices, "planes": self.planes, "before": self.before, "q": self.q}

    def visit(self):
        arrays = {**self.table, "impulses": self.impulses, "friction": self.friction, "starts": self.starts}
        run(push_walls, arrays, 0, len(self.starts) - 1)


def check_coulomb(impulses, planes, friction):
    """N >= 0, T across n, |T| <= μ_s N."""
    t, total = wide(impulses[:, :3]), wide(impulses[:, 3])
    assert (total >= 0).all()
    assert (np.linalg.norm(t, axis=1) <= friction[:, 0] * total * (1 + SLACK) + SLACK).all()
    assert (np.abs(np.einsum("mc,mc->m", t, wide(planes[:, :3]))) <= SLACK).all()


class Pairs:
    """Vertex-triangle and edge-edge contacts of random points, some vertices pinned."""

    def __init__(self, seed=0, m=40, n=24):
        rng = self.rng = np.random.default_rng(seed)
        self.m, self.n = m, n
        self.corners = np.stack([rng.permutation(n)[:4] for _ in range(m)]).astype(np.int32)
        shares, (t, r) = rng.dirichlet([1, 1, 1], m), rng.uniform(0, 1, (2, m))
        point = np.column_stack([np.ones(m), -shares])
        edges = np.column_stack([1 - t, t, -(1 - r), -r])
        self.a = np.where(np.arange(m)[:, None] % 2, edges, point).astype(np.float32)
        self.q = rng.normal(size=(n, 4)).astype(np.float32)
        self.q[:, 3] = rng.uniform(0.5, 2, n)
        self.q[::7, 3] = 0
        self.previous = (self.q + 0.1 * rng.normal(size=(n, 4))).astype(np.float32)
        normals = unit(rng, m)
        offset = np.einsum("mc,mc->m", normals, self.z(self.q)) + 0.1 * rng.normal(size=m)
        self.planes = np.column_stack([normals, offset]).astype(np.float32)
        self.friction = np.sort(rng.uniform(0, 1, (m, 2)), axis=1)[:, ::-1].astype(np.float32).copy()
        self.before = np.zeros((m, 4), np.float32)
        self.before[:, :3] = self.z(self.previous)
        self.impulses, self.recovery = np.zeros((m, 4), np.float32), np.linspace(0.005, 0.02, m).astype(np.float32)

    def z(self, q):
        """Σ a_k x_k, (m, 3)"""
        return np.einsum("mk,mkc->mc", wide(self.a), wide(q[self.corners, :3]))

    def weight(self, c, q):
        return float(wide(self.a[c]) ** 2 @ wide(q[self.corners[c], 3]))

    @property
    def table(self):
        """What `begin_contacts`, `pull_contacts` and the like share."""
        given = {"vertices": self.corners, "a": self.a, "planes": self.planes, "before": self.before}
        return {**given, "q": self.q}

    @property
    def pushing(self):
        """What kernels read that push."""
        return {**self.table, "impulses": self.impulses, "friction": self.friction}

    def push(self, c, q, impulse):
        return push(self.z(q)[c], self.planes[c], self.before[c], impulse, *wide(self.friction[c]))
