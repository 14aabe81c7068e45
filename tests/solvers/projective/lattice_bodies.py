"""Bodies of one, two and three dimensions for lattices, at rest and moved."""

from __future__ import annotations

import numpy as np

from vivace import Cloth, Model, Solid, System, Wire, mesh
from vivace.mesh import Mesh
from vivace.solvers.projective.lattice_space import LatticeSpace, lattice_spaces


def wire(n: int = 30, along: tuple[float, float, float] = (1.0, 0.0, 0.0)) -> Mesh:
    points = np.linspace(0, 1, n)[:, None] * np.array(along)
    return Mesh.from_edges(points, np.c_[np.arange(n - 1), np.arange(1, n)])


def bodies() -> dict[str, tuple[Model, list[int]]]:
    """Models, and the dimensions of their parts' lattices."""
    sheet, block = mesh.cloth(12, 12), mesh.cube(4)
    two = mesh.join([sheet, sheet.transformed(translate=(3, 0, 0))])
    edge = np.flatnonzero(sheet.vertices[:, 0] == sheet.vertices[:, 0].max())
    seam = np.c_[edge, edge + len(sheet.vertices)]
    return {
        "cloth": (Model.of(sheet, Cloth()).pin("top-corners"), [2]),
        "turned cloth": (Model.of(_turned(sheet), Cloth()).pin([0]), [2]),
        "irregular cloth": (Model.of(mesh.cloth(12, 12, irregular=True), Cloth()).pin("top-corners"), [2]),
        "bent cloth": (Model.of(_bent(sheet), Cloth()).pin([0]), [3]),
        "cube": (Model.of(block, Solid()), [3]),
        "bar": (Model.of(mesh.bar(9, 3, 3), Solid()), [3]),
        "wire": (Model.of(wire(), Wire()).pin([0]), [1]),
        "slanted wire": (Model.of(wire(30, (1.0, 2.0, -0.5)), Wire()).pin([0]), [1]),
        "two cloths": (Model.of(two, Cloth()).pin([0]), [2, 2]),
        "welded cloths": (Model.of(two, Cloth()).pin([0]).constrain("weld", seam, 1e3), [2]),
        "tiny wire": (Model.of(wire(5), Wire()).pin([0]), []),
        "tiny cloth": (Model.of(mesh.cloth(2, 2), Cloth()), []),
    }


def _turned(body: Mesh) -> Mesh:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    return Mesh.from_triangles(body.vertices @ turn.T, body.triangles)


def _bent(body: Mesh) -> Mesh:
    points = body.vertices.copy()
    points[:, 1] += 0.3 * points[:, 0] ** 2
    return Mesh.from_triangles(points, body.triangles)


BODIES = list(bodies())


def spaces_of(model: Model, cells: int = 16, h: float = 0.033) -> tuple[System, list[LatticeSpace]]:
    system = System(model, h)
    return system, lattice_spaces(system, cells)


def moved(model: Model, amount: float) -> np.ndarray:
    """Smoothly bent, turned and stretched, and a little rough."""
    q, rng = model.mesh.vertices.copy(), np.random.default_rng(0)
    edge = np.ptp(q, axis=0).max() / 11
    q += amount * np.c_[np.sin(3 * q[:, 1]), np.cos(4 * q[:, 0]), q[:, 0] * q[:, 1]] * 0.3
    return q + amount * 0.1 * edge * rng.standard_normal(q.shape)
