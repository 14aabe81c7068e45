"""Contacts in the Hessian of a step: forces, curvature, products and gains, against dense float64 arithmetic."""

import numpy as np
import pytest

from kernel_twins import EPS32, blocks, to_rows
from solvers.projective.kernels.block_twins import close, flat, run, symmetric, unturned
from vivace.energy.kernels.assemble import list_corners
from vivace.solvers.projective.kernels import block_contacts as contacts
from vivace.solvers.projective.kernels import contact
from vivace.solvers.projective.kernels.acceleration import BLOCK


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
