"""A mesh of one's own as a scene that starts well: made of something, at a size that reads, standing or hung.

A file says where vertices are and nothing else: neither its unit, nor which way it lies, nor what it is made of. So a
mesh is brought to the size of things on a table, put on the floor or hung by a patch that can carry it, and made of

    jelly   tetrahedra: a closed surface is filled                       on the floor
    shell   a thin wall that keeps its curvature, as of a plastic toy    on the floor
    cloth   a sheet; of an open surface hung by its upper rim            hung, or on the floor if it is closed
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from cholespy import CholeskySolverD, MatrixType
from scipy.spatial import ConvexHull, QhullError

from .. import mesh as meshes
from ..checks import check_name
from ..collisions import Plane, Sampled
from ..energy.hessian import Hessian
from ..energy.system import System
from ..errors import InputError, MissingExtraError
from ..mesh import Mesh, lenient, stuffing, topology
from ..model.fabrics import fabric
from ..model.materials import Cloth, Material, Solid
from ..model.model import Model
from .scene import Scene
from .shown import load_mesh
from .thickness import sheet_thickness

KINDS = ("jelly", "shell", "cloth")
SIZE = 1.0  # m: the longest side that a mesh is brought to
READS = (0.5, 2.0)  # m: one that is within these is left as it is
ABOVE = 0.02  # of its size: how far above the floor it is let go
FILL_S = 60.0  # s that TetGen may take
FILLING = 7000  # vertices of a lattice, where TetGen does not fill it
MOST_FILLED = 15_000  # vertices of a surface that TetGen fills: more make a body that is too large to be followed live
MOST_BENT = 20_000  # vertices of a body whose stiffness is fitted
SAG_MEAN, SAG_MOST = 0.015, 0.05  # of its size: how far its own weight may bend a standing body
STIFFER = (0.2, 1e3)  # how many times as stiff as at first a body may be made
SAG_TOLERANCE = 0.01  # of the weight, relative
TRIED = 20  # iterations: then factors take less
STILL_S = 100.0  # s: a step so long that inertia is nothing beside elasticity
FOOT = 0.03  # of its height: what a body stands on
TIPPING = 0.25  # rad that a body may be tilted by before it falls, at least; else it is held by its feet
FEW = 0.03  # of a sheet's area that should be held, at least
WIDE = 0.3  # of its width that what is held should span
LOWEST = 0.25  # of its height, down to which vertices are held to reach that
TIME_STEP, FRICTION = 1 / 30, 0.5
VIEW = (0.5, 0.35, 1.0)


def kinds_of(body: Mesh) -> tuple[str, ...]:
    """What a mesh can be made to be, the best first."""
    if body.is_volumetric or not len(topology.boundary_edges(body.triangles)):
        return KINDS
    return ("cloth", "shell")


def load_leniently(path: Path, **options: Any) -> Mesh:
    """A mesh with all put right that can be; sheets that meet at one edge are parted, where there are any.

    `options`: those of `vivace.mesh.load`, which is then called with these alone.
    """
    return load_mesh(path, **options) if options else lenient.load_leniently(path)


def own_scene(body: Mesh, kind: str | None = None, *, file: str = "") -> Scene:
    """A scene of a mesh that somebody brought.

    Args:
        body: as it was read.
        kind: jelly, shell or cloth; None: the first that suits it, see `kinds_of`.
        file: what a scene file calls the file that it was read from.
    """
    suitable = kinds_of(body)
    kind = suitable[0] if kind is None else check_name("kind of body", kind, KINDS)
    if kind not in suitable:
        raise InputError(
            f"{body.name!r} is not closed, so that it cannot be filled with jelly; "
            "take shell or cloth, or close its holes in a modelling program"
        )
    shape, scale, place = brought_to_size(filled(body) if kind == "jelly" else surface_of(body))
    hangs = kind == "cloth" and "jelly" not in suitable
    material, air = MADE_OF[kind]()
    model = Model.of(shape, material, air=air)
    stiffness = 1.0 if kind == "cloth" else stiff_enough(model)
    if "seams" in shape.groups:
        model = model.sew()
    thickness = sheet_thickness(typical_edge(shape))
    held = upper_patch(shape) if hangs else unsteady_feet(model) if kind != "cloth" else np.zeros(0, np.int32)
    ground = [] if hangs else [Plane()]
    up = 0.0 if hangs else thickness + (0.0 if len(held) else ABOVE * float(np.ptp(shape.bounds, axis=0).max()))
    model = replace(model, mesh=shape.transformed(translate=(0.0, up, 0.0)))
    if len(held):
        model = model.pin(held)
    model = model.stiffened(stiffness).collide(ground, thickness=thickness, friction=FRICTION, itself=kind == "cloth")
    known: dict[str, Any] = {"kind": kind, "kinds": list(suitable)}
    if file and describable(body, model.mesh, kind):
        known["description"] = {
            "mesh": {
                "file": file,
                "repair": True,
                **_numbers_of(body),
                **({"split": True, "sew": True} if "seams" in shape.groups else {}),
                **({"tetrahedralise": True} if kind == "jelly" and not body.is_volumetric else {}),
                "scale": scale,
                "translate": [*place[:1], place[1] + up, *place[2:]],
            },
            "material": {"kind": "solid" if kind == "jelly" else "cloth", **_plain(material)},
            "world": {"air": air, "time_step": TIME_STEP, **({} if stiffness == 1 else {"stiffness": stiffness})},
            "collisions": {
                "thickness": thickness,
                "friction": FRICTION,
                "itself": kind == "cloth",
                "colliders": [] if hangs else [{"kind": "plane"}],
            },
            **({"pins": {"indices": held.tolist()}} if len(held) else {}),
        }
    return Scene(body.name, model, TIME_STEP, settings=known, view=VIEW)


def describable(body: Mesh, made: Mesh, kind: str) -> bool:
    """Whether a scene file can tell how to make the mesh of its file into that of the scene."""
    if kind != "jelly":
        return not body.is_volumetric
    return body.is_volumetric or (made.n_vertices >= body.n_vertices and _begins_with(made, body))


def _begins_with(made: Mesh, body: Mesh) -> bool:
    """Whether a body's vertices begin with those of its surface, moved and scaled: TetGen keeps them, a lattice not."""
    first = made.vertices[: body.n_vertices]
    scale = np.ptp(first, axis=0).max() / np.ptp(body.vertices, axis=0).max()
    return bool(np.allclose(first - first[0], scale * (body.vertices - body.vertices[0]), atol=1e-6))


def _numbers_of(body: Mesh) -> dict[str, Any]:
    """What the numbers in the file of a mesh mean, where that is not metres with y up."""
    told = {} if body.surface is None else {"unit": body.surface.unit, "up": body.surface.up}
    return {key: value for key, value in told.items() if value not in ("m", "y")}


def _plain(material: Material) -> dict[str, Any]:
    """The fields of a material that scene files know."""
    known = fields(Cloth if isinstance(material, Cloth) else Solid)
    return {item.name: getattr(material, item.name) for item in known if getattr(material, item.name) is not None}


def _jelly() -> tuple[Material, float]:
    return Solid(density=300.0, youngs_modulus=1e5, poisson_ratio=0.3), 0.5


def _shell() -> tuple[Material, float]:
    return Cloth(density=1.0, stretch=3e4, bend=0.05), 0.5


def _cloth() -> tuple[Material, float]:
    cotton = fabric("cotton")
    return cotton, cotton.damping


MADE_OF: dict[str, Callable[[], tuple[Material, float]]] = {"jelly": _jelly, "shell": _shell, "cloth": _cloth}


def surface_of(body: Mesh) -> Mesh:
    """The surface of a body; a surface is its own."""
    if not body.is_volumetric:
        return body
    used, numbers = np.unique(body.triangles, return_inverse=True)
    return Mesh.from_triangles(body.vertices[used], numbers.reshape(-1, 3), name=body.name, repair=True)


def brought_to_size(body: Mesh) -> tuple[Mesh, float, list[float]]:
    """The mesh in the middle of the floor, of a size that reads well; how it was scaled and moved."""
    low, high = body.bounds
    longest = float((high - low).max())
    scale = 1.0 if READS[0] <= longest <= READS[1] else SIZE / longest
    middle = 0.5 * (low + high)
    place = np.array([-scale * middle[0], -scale * low[1], -scale * middle[2]])
    return body.transformed(scale=scale, translate=place), scale, place.tolist()


def filled(surface: Mesh) -> Mesh:
    """Tetrahedra inside a closed surface: TetGen's where it is installed and succeeds, else those of a lattice."""
    if surface.is_volumetric:
        return surface
    if surface.n_vertices <= MOST_FILLED:
        with suppress(MissingExtraError, InputError):
            return meshes.tetrahedralise(surface, seconds=FILL_S)
    return stuffed(surface)


def stuffed(surface: Mesh, vertices: int = FILLING) -> Mesh:
    """About so many vertices of a lattice, cut off at the surface [labelle2007]; smaller details are lost."""
    low, high = surface.bounds
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    volume = abs(float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum())) / 6
    longest = float((high - low).max())
    spacing = float(np.clip((2 * volume / vertices) ** (1 / 3), longest / 80, longest / 12))  # two points a cell
    distance = Sampled.of(surface, spacing=0.5 * spacing, cache=False)
    points, tets = stuffing.stuff(lambda x: -distance.distance(x), low, high, spacing)
    if not len(tets):
        raise InputError(f"{surface.name!r} is too thin to be filled; take shell or cloth")
    body = Mesh.from_tets(points, tets, name=surface.name, repair=True)
    return body.showing(meshes.embed(surface, body))


def stiff_enough(model: Model) -> float:
    """How many times as stiff a standing body has to be, so that its own weight bends it a little and not more.

    By linear elasticity: with its feet held, the displacements under gravity are u = H⁻¹ M g, H the Hessian at rest.
    """
    if model.n > MOST_BENT:
        return 1.0
    x = model.mesh.vertices
    held = model.pin(_feet(model))
    u = displacements(Hessian(System(held, STILL_S))(x), (model.masses[:, None] * model.gravity).ravel(), x)
    moved = np.linalg.norm(u.reshape(-1, 3), axis=1) / float(np.ptp(model.mesh.bounds, axis=0).max())
    factor = max(float(moved.mean()) / SAG_MEAN, float(moved.max()) / SAG_MOST)
    return float(np.clip(factor, *STIFFER)) if np.isfinite(factor) else 1.0


def displacements(stiffness: sp.csr_matrix, forces: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Small displacements of a body with vertices x under forces, to SAG_TOLERANCE of these.

    Conjugate gradients over algebraic multigrid, whose coarse levels are told of rigid motions, need 4 to 20 iterations
    in a lattice of tetrahedra, where factors fill in and take ten times as long; of the shapes that TetGen makes they
    may need a hundred, and factors are quick.
    """
    import pyamg

    arms = x - x.mean(axis=0)
    turns = np.cross(np.eye(3)[:, None], arms).transpose(1, 2, 0)
    rigid = np.concatenate([np.broadcast_to(np.eye(3), (len(x), 3, 3)), turns], axis=2).reshape(-1, 6)
    # Weights by rows and not by a spectral radius, whose estimate would begin with random numbers.
    smooth = ("jacobi", {"omega": 4 / 3, "weighting": "local"})
    levels = pyamg.smoothed_aggregation_solver(stiffness.tobsr((3, 3)), B=rigid, smooth=smooth)
    u: np.ndarray
    u, unfinished = levels.solve(forces, tol=SAG_TOLERANCE, maxiter=TRIED, accel="cg", return_info=True)
    if not unfinished and np.isfinite(u).all():
        return u
    matrix, exact = stiffness.tocoo(), np.zeros_like(forces)
    CholeskySolverD(len(forces), matrix.row, matrix.col, matrix.data, MatrixType.COO).solve(forces, exact)
    return exact


def _feet(model: Model) -> np.ndarray:
    low, high = model.mesh.bounds
    return np.flatnonzero(model.mesh.vertices[:, 1] <= low[1] + FOOT * (high[1] - low[1])).astype(np.int32)


def unsteady_feet(model: Model) -> np.ndarray:
    """What a body stands on, if it would fall over without being held there; else nothing."""
    x, masses = model.mesh.vertices, model.masses
    low = model.mesh.bounds[0]
    feet = _feet(model)
    centre = masses @ x / masses.sum()
    try:
        hull = ConvexHull(x[feet][:, [0, 2]])
    except (QhullError, ValueError):  # a point or a line
        return feet
    inside = -(hull.equations[:, :2] @ centre[[0, 2]] + hull.equations[:, 2]).max()  # m to the nearest side
    return feet if inside < np.tan(TIPPING) * (centre[1] - low[1]) else feet[:0]


def typical_edge(body: Mesh) -> float:
    """The median length of its edges (m)."""
    ends = body.vertices[body.edges]
    return float(np.median(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)))


def upper_patch(body: Mesh) -> np.ndarray:
    """The vertices that a sheet is hung by: its upper rim, as far down as it takes to carry the rest."""
    low, high = body.bounds
    extent = high - low
    if extent[1] < 1e-3 * extent.max():  # it lies flat: held at its right end, it falls and swings
        along, across = body.vertices[:, 0] - low[0], 2
    else:
        along, across = body.vertices[:, 1] - low[1], 0 if extent[0] >= extent[2] else 2
    reach = float(np.ptp(along))
    for share in np.linspace(0.02, LOWEST, 24):
        held = np.flatnonzero(along >= (1 - share) * reach)
        spans = np.ptp(body.vertices[held, across]) >= WIDE * extent[across]
        if len(held) >= FEW * body.n_vertices and spans:
            break
    return held.astype(np.int32)
