"""What is pushed out of a wall takes its neighbours along."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Plane
from vivace.mesh.topology import adjacency
from vivace.solvers.projective import contacts
from vivace.solvers.projective.kernels.pushed import take_along

MOST, PASSES = 0.2, 12


def twin(q, ended, rank, order, edges, inverse, walls, planes, most, passes):
    """The same, edge by edge, in plain Python."""
    q = q.astype(np.float32).copy()
    at = lambda x, i: x[i, :3].astype(np.float64)  # noqa: E731
    length = lambda x, i, j: float(np.linalg.norm(at(x, j) - at(x, i)))  # noqa: E731
    around = {i: sorted({int(a + b - order[i]) for a, b in edges if order[i] in (a, b)}) for i in range(len(q))}

    def pressed(i, j):
        return abs(length(q, i, j) - length(ended, i, j)) > most * length(ended, i, j)

    looked = [
        i for i in range(len(q)) if (q[i, :3] != ended[i, :3]).any() and any(pressed(i, rank[v]) for v in around[i])
    ]
    for _ in range(passes):
        still = True
        for i in list(looked):
            for v in around[i]:
                j = rank[v]
                total = inverse[order[i]] + inverse[v]
                if not pressed(i, j) or not total > 0:
                    continue
                still = False
                now, before = length(q, i, j), length(ended, i, j)
                target = before * (1 + most if now > before else 1 - most)
                way = (now - target) / (now * total) * (at(q, j) - at(q, i))
                q[i, :3], q[j, :3] = at(q, i) + inverse[order[i]] * way, at(q, j) - inverse[v] * way
                if j not in looked:
                    looked.append(j)
        for i, plane in zip(walls, planes.astype(np.float64), strict=True):
            depth = plane[3] - plane[:3] @ at(q, i)
            if i in looked and inverse[order[i]] > 0 and depth > 0:
                q[i, :3] = at(q, i) + depth * plane[:3]
        if still:
            break
    return q, looked


def landed(seed=3, held=False):
    """A crumpled cloth, some vertices of which have been pushed up to a floor; in another order than the mesh's."""
    rng = np.random.default_rng(seed)
    mesh = vv.mesh.cloth(7, 6, width=0.06, height=0.05, plane="vertical")
    order = rng.permutation(mesh.n_vertices).astype(np.int32)
    rank = np.argsort(order).astype(np.int32)
    ended = np.zeros((mesh.n_vertices, 4), np.float32)
    ended[:, :3] = (mesh.vertices + rng.normal(0, 5e-4, mesh.vertices.shape))[order]
    walls = np.flatnonzero(ended[:, 1] < np.sort(ended[:, 1])[12]).astype(np.int32)
    planes = np.tile(np.array([0, 1, 0, np.sort(ended[:, 1])[12]], np.float32), (len(walls), 1))
    planes[:, 3] += 0.004
    q = ended.copy()
    q[walls, 1] = np.maximum(q[walls, 1], planes[:, 3])
    inverse = rng.uniform(0.5, 2.0, mesh.n_vertices)
    if held:
        inverse[::5] = 0.0
    return mesh, q, ended, rank, order, inverse, walls, planes


def strain(mesh, q, ended, rank):
    a, b = rank[mesh.edges].T
    now, before = (np.linalg.norm(x[b, :3] - x[a, :3], axis=1) for x in (q, ended))
    return np.abs(now / before - 1)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("passes", [1, PASSES])
def test_take_along_is_its_twin(held, passes):
    mesh, q, ended, rank, order, inverse, walls, planes = landed(held=held)
    expected, looked = twin(q, ended, rank, order, mesh.edges, inverse, walls, planes, MOST, passes)
    found = take_along(
        q, ended, rank, order, *adjacency(mesh.n_vertices, mesh.edges), inverse, walls, planes, MOST, passes
    )
    assert found.tolist() == looked
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-8)  # of lengths of 1 cm: float32 rounding


def test_edges_keep_their_length_and_walls_hold():
    mesh, q, ended, rank, order, inverse, walls, planes = landed()
    assert strain(mesh, q, ended, rank).max() > 0.35
    graph = adjacency(mesh.n_vertices, mesh.edges)
    take_along(q, ended, rank, order, *graph, inverse, walls, planes, MOST, PASSES)
    assert strain(mesh, q, ended, rank).max() < 1.15 * MOST  # what twelve passes leave
    assert (q[walls, 1] >= planes[:, 3] - 1e-7).all()


def test_momentum_is_what_walls_give():
    """Without walls Σ m (q - ended) stays what pushes made it: an edge gives one end what it takes from the other."""
    mesh, q, ended, rank, order, inverse, *_ = landed()
    none = np.zeros(0, np.int32), np.zeros((0, 4), np.float32)
    masses = 1 / inverse[order][:, None]
    before = (masses * (q - ended)[:, :3]).sum(axis=0)
    graph = adjacency(mesh.n_vertices, mesh.edges)
    take_along(q, ended, rank, order, *graph, inverse, *none, MOST, PASSES)
    np.testing.assert_allclose((masses * (q - ended)[:, :3]).sum(axis=0), before, atol=1e-6 * np.abs(before).max())


def test_small_pushes_are_left_alone():
    mesh, q, ended, rank, order, inverse, walls, planes = landed()
    q[:] = ended + 0.1 * (q - ended)
    before = q.copy()
    graph = adjacency(mesh.n_vertices, mesh.edges)
    assert not len(take_along(q, ended, rank, order, *graph, inverse, walls, planes, MOST, PASSES))
    np.testing.assert_array_equal(q, before)


def falling_on_its_hem(frames=6):
    """The largest strain of an edge of a hanging cloth that falls on a floor, with eight rounds a step."""
    mesh = vv.mesh.cloth(40, 40, width=0.4, height=0.4, plane="vertical")
    mesh = mesh.transformed(translate=(0, 0.02 - mesh.vertices[:, 1].min(), 0))
    model = vv.Model.of(mesh, vv.Cloth(density=0.2, stretch=1e3, bend=1e-5)).collide(
        [Plane()], itself=False, thickness=0.004
    )
    sim = vv.Simulation(model, budget=vv.Budget(iterations=8), time_step=1 / 30, substeps=2)
    sim.velocities = np.tile([0.0, -3.0, 0.0], (model.n, 1))
    one, two = mesh.edges.T
    rest, most = np.linalg.norm(mesh.vertices[one] - mesh.vertices[two], axis=1), 0.0
    for _ in range(frames):
        sim.step()
        q = sim.positions
        assert q[:, 1].min() > 0
        most = max(most, float(np.abs(np.linalg.norm(q[one] - q[two], axis=1) / rest - 1).max()))
    return most


@pytest.mark.slow
def test_a_hem_that_lands_is_not_pressed_together(monkeypatch):
    assert falling_on_its_hem() < MOST + 0.06
    monkeypatch.setattr(contacts, "take_along", lambda *_: None)
    assert falling_on_its_hem() > 0.3
