"""The space of a lattice: its parts, hats and cells; and the matrix of a step in it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from solvers.projective.lattice_bodies import BODIES, bodies, moved, spaces_of
from solvers.rounding import U, rows
from vivace import Cloth, Model, System, mesh
from vivace.backends.cpu.executor import Plan
from vivace.energy.hessian import Hessian
from vivace.solvers import make_solver
from vivace.solvers.projective.kernels import lattice as kernel
from vivace.solvers.projective.lattice_parts import axes_of, cells_for, work
from vivace.solvers.projective.lattice_space import LatticeSpace


@pytest.fixture(params=BODIES)
def body(request) -> tuple[Model, list[int]]:
    return bodies()[request.param]


# --- the space -------------------------------------------------------------------------------------------------------


def test_every_connected_part_has_a_lattice_of_its_own_dimensions(body):
    """Planar, straight, volumetric; what is welded is one part, and what is tiny has none."""
    model, dims = body
    _, spaces = spaces_of(model)
    assert sorted(space.dims for space in spaces for _ in space.parts) == sorted(dims)
    held = [part.vertices for space in spaces for part in space.parts]
    assert len(np.unique(np.concatenate([*held, np.zeros(0, int)]))) == sum(map(len, held))


def test_hats_are_a_partition_of_unity_and_reproduce_linear_functions(body):
    """P 1 = 1 and P ξ(nodes) = ξ(vertices), so P moves a part by any affine motion of its rest shape."""
    model, _ = body
    for space in spaces_of(model)[1]:
        p = space.prolongation
        inside = np.concatenate([part.vertices for part in space.parts])
        np.testing.assert_allclose(p.sum(axis=1)[inside], 1.0, atol=1e-12)
        assert p.data.min() >= -1e-12
        nodes = np.concatenate([np.indices(part.cells + 1).reshape(space.dims, -1).T for part in space.parts])
        for part in space.parts:
            np.testing.assert_allclose((p @ nodes)[part.vertices], part.xi, atol=1e-9)
            # ξ is an affine function of the rest positions: rigid motions and stretches are in the space
            x = np.c_[np.ones(len(part.vertices)), model.mesh.vertices[part.vertices]]
            fitted = x @ np.linalg.lstsq(x, part.xi, rcond=None)[0]
            np.testing.assert_allclose(fitted, part.xi, atol=1e-9)


def test_axes_of_equal_extents_and_of_lines():
    """A cube, a square and a line: three, two and one axis, all orthonormal, each as long as the points reach."""
    corners = np.indices((2, 2, 2)).reshape(3, -1).T.astype(float)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    for points, dims in ((corners, 3), (corners[corners[:, 2] == 0], 2), (np.outer(np.arange(5.0), [1, 1, 1]), 1)):
        for placed in (points, points @ turn.T + 5.0):
            axes, extents = axes_of(placed)
            assert len(axes) == len(extents) == dims
            np.testing.assert_allclose(axes @ axes.T, np.eye(dims), atol=1e-12)
            np.testing.assert_allclose(np.ptp(placed @ axes.T, axis=0), extents)
            assert (np.diff(extents) <= 1e-12).all()
            left = placed - placed.mean(axis=0)
            np.testing.assert_allclose(left @ axes.T @ axes, left, atol=1e-9)


def test_cells_are_as_many_as_asked_for_unless_small_or_dear():
    extents = np.array([2.0, 1.0])
    assert cells_for(extents, 1e-3, 16, 1e9).tolist() == [16, 8]
    assert cells_for(extents, 1e-3, 1, 1e9).tolist() == [1, 1]
    assert cells_for(extents, 0.5, 16, 1e9).tolist() == [1, 1]  # cells of at least 3.2 edges
    few = cells_for(extents, 1e-3, 16, 1e5)
    assert 1 <= few[0] < 16
    assert work(few) <= 1e5
    assert cells_for(extents, 1e-3, 16, 0.0).tolist() == [1, 1]  # one cell is always possible


# --- the matrix ------------------------------------------------------------------------------------------------------


def matrices(model: Model, q: np.ndarray, cells: int = 16) -> tuple[np.ndarray, np.ndarray, LatticeSpace]:
    """The assembled slabs as a dense matrix and the exact PᵀHP, both at q (3 nodes, 3 nodes)."""
    solver = make_solver(("lattice", {"cells": cells}))
    system = System(model, 0.033)
    solver.prepare(system, threads=1, seed=0)
    (space,) = solver._spaces
    solver.layout.load(rows(q), rows(q))
    r, x = np.zeros((system.n, 4), np.float32), np.zeros((space.nodes, 4), np.float32)
    phases = space.bind(solver.layout, r, x)
    Plan(phases[:3], 1).run()
    u, size = phases[2].arrays["u"], 3 * space.nodes
    slabs = np.zeros((size, size))
    for slab in space.slabs:
        n, at = 3 * slab[kernel.SIZE], 3 * slab[kernel.FIRST_NODE]
        rows_ = u[slab[kernel.MATRIX] : slab[kernel.MATRIX] + 2 * n * n].reshape(n, 2 * n)
        upper = np.triu(rows_[:, :n])
        slabs[at : at + n, at : at + n] = upper + np.triu(upper, 1).T
        if slab[kernel.NEXT] >= 0:
            to = 3 * space.slabs[slab[kernel.NEXT], kernel.FIRST_NODE]
            slabs[at : at + n, to : to + n] = rows_[:, n:]
            slabs[to : to + n, at : at + n] = rows_[:, n:].T
    p = sp.kron(space.prolongation, np.eye(3))
    exact = (p.T @ Hessian(system)(q.astype(np.float32).astype(np.float64)) @ p).toarray()
    lone = np.flatnonzero(exact.diagonal() == 0)
    exact[lone, lone] = 1.0
    return slabs, exact, space


@pytest.mark.parametrize("amount", [0.0, 1.0])
def test_the_matrix_is_exact_where_springs_end_at_the_borders_of_cells(amount):
    """Cells of five edges each, nothing crosses: PᵀHP to the roundings of float32 sums."""
    model = Model.of(mesh.cloth(21, 21), Cloth(bend=0.0)).pin("top-corners")
    slabs, exact, space = matrices(model, moved(model, amount), 4)
    assert space.parts[0].cells.tolist() == [4, 4]
    np.testing.assert_allclose(slabs, exact, atol=2e-6 * np.abs(exact).max())


@pytest.mark.slow
@pytest.mark.parametrize("amount", [0.0, 1.0])
@pytest.mark.parametrize("name", ["cloth", "irregular cloth", "turned cloth", "bent cloth", "wire", "welded cloths"])
def test_the_matrix_of_springs_lies_above_the_exact_one_and_not_far(name, amount):
    """PᵀHP <= M + E and M <= 2 PᵀHP: pieces of springs cut at borders are never softer than the spring [`_pieces`].

    E is what float32 may lose: at rest a spring's stiffness across, w (1 - l/|d|), is all rounding, some u w, and the
    motions that feel nothing else are softer than that by orders: 8 u Pᵀ diag(Y) P in a plane, and 64 u where sums of
    seven features cancel. A shell in a lattice of three dimensions is thinner than its cells: the motion of their upper
    nodes against the lower ones hardly moves its vertices, but what it does to pieces of springs counts, up to 10.
    """
    shell = name == "bent cloth"
    model, _ = bodies()[name]
    slabs, exact, space = matrices(model, moved(model, amount))
    p = sp.kron(space.prolongation, np.eye(3)).toarray()
    lost = (64 if shell else 8) * U * (p.T * np.repeat(System(model, 0.033).stiffness_diagonal, 3)) @ p
    assert scipy.linalg.eigh(slabs + lost, exact, eigvals_only=True)[0] >= 1 - 1e-6
    ratios = scipy.linalg.eigh(slabs, exact, eigvals_only=True)
    assert ratios[0] >= 1 - (1e-6 if amount else 1e-2)
    assert ratios[-1] <= (10.0 if shell else 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cube", "bar"])
def test_the_matrix_of_tetrahedra_is_positive_and_near_the_exact_one_at_rest(name):
    """At rest linear elasticity is the Hessian, but a few of a cell's tetrahedra stand for all of them."""
    model, _ = bodies()[name]
    slabs, exact, _ = matrices(model, model.mesh.vertices)
    ratios = scipy.linalg.eigh(slabs, exact, eigvals_only=True)
    assert 0.3 <= ratios[0] <= ratios[-1] <= 3.0


def test_pins_are_in_the_matrix_and_leave_it():
    """The matrix with pins minus that without is Pᵀ diag(pins) P."""
    model = Model.of(mesh.cloth(12, 12), Cloth())
    q, pinned = moved(model, 0.5), model.pin([3, 70], stiffness=1e4)
    free, _, space = matrices(model, q)
    held, _, _ = matrices(pinned, q)
    p = sp.kron(space.prolongation, np.eye(3)).toarray()
    weight = np.repeat(System(pinned, 0.033).pin_weight, 3)
    np.testing.assert_allclose(held - free, (p.T * weight) @ p, atol=1e-9 * np.abs(held).max())
