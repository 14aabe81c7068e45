"""Meshes from numbers alone: cloth, noodles, bars, cubes and tori. Round bodies are in `body`. y is up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import scipy.spatial

from ..checks import check_count, check_flag, check_name, check_room, check_seed, check_size, many, real_array, shown
from ..errors import InputError
from . import measure, topology
from .checks import FLAT
from .mesh import Mesh

_PLANES = ("horizontal", "vertical")


def cloth(
    nx: int = 100,
    ny: int = 100,
    width: float = 1.0,
    height: float = 1.0,
    *,
    irregular: bool = False,
    seed: int = 0,
    plane: str = "horizontal",
) -> Mesh:
    """A rectangle of triangles, centred on x = 0.

    Vertex j·nx + i is column i (rising x) of row j (from the top edge down). A horizontal cloth lies at y = 0 centred
    on z = 0, facing up, its top edge at the lowest z; a vertical one hangs from y = 0 and faces +z. Groups: "left",
    "right", "top", "bottom", "corners", and the pairs "top-corners", "bottom-corners", "left-corners",
    "right-corners".

    Args:
        nx: vertices along the width, 2 or more.
        ny: vertices along the height, 2 or more.
        width: in m.
        height: in m.
        irregular: scatter the inner vertices and join them by Delaunay; the border stays as it is.
        seed: of the scatter; the same seed gives the same mesh.
        plane: "horizontal" or "vertical".
    """
    nx, ny = check_count("nx", nx, 2), check_count("ny", ny, 2)
    check_size("width", width)
    check_size("height", height)
    check_flag("irregular", irregular)
    check_seed(seed)
    check_name("plane", plane, _PLANES)
    cells = 2 * (nx - 1) * (ny - 1)
    each = 470 if irregular else 160
    check_room(f"a cloth of {many(nx)} x {many(ny)} vertices", nx * ny, cells, corners=3, each=each)
    across, down = np.meshgrid(np.linspace(-0.5, 0.5, nx) * width, np.linspace(0.0, 1.0, ny) * height)
    flat = np.column_stack([across.ravel(), down.ravel()])
    number = np.arange(nx * ny).reshape(ny, nx)
    if irregular:
        flat, triangles = _scattered(flat, number, seed)
    else:
        a, b, c, d = (x.ravel() for x in (number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]))
        triangles = np.stack([np.column_stack([a, c, b]), np.column_stack([b, c, d])], axis=1).reshape(-1, 3)
    zero = np.zeros(nx * ny)
    if plane == "horizontal":
        vertices = np.column_stack([flat[:, 0], zero, flat[:, 1] - 0.5 * height])
    else:
        vertices = np.column_stack([flat[:, 0], 0.0 - flat[:, 1], zero])
    groups = {"left": number[:, 0], "right": number[:, -1], "top": number[0], "bottom": number[-1]}
    groups |= {f"{name}-corners": ends[[0, -1]] for name, ends in list(groups.items())}
    groups["corners"] = number[[0, 0, -1, -1], [0, -1, 0, -1]]
    return Mesh.from_triangles(vertices, triangles, name="cloth", groups=groups)


def _scattered(flat: np.ndarray, number: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Jitter the inner points of a grid, even them out a little, and join all by Delaunay."""
    cell = np.array([flat[number[0, 1], 0] - flat[number[0, 0], 0], flat[number[1, 0], 1] - flat[number[0, 0], 1]])
    inner = number[1:-1, 1:-1].ravel()
    flat = flat.copy()
    flat[inner] += np.random.default_rng(seed).uniform(-0.45, 0.45, (len(inner), 2)) * cell
    triangles = _delaunay(flat)
    for _ in range(3):
        # Moving half-way to the mean of the neighbours takes out the needles and keeps the irregular valences.
        edges = topology.unique_edges(triangles)
        indptr, neighbours = topology.adjacency(len(flat), edges)
        means = np.add.reduceat(flat[neighbours], indptr[:-1]) / np.diff(indptr)[:, None]
        flat[inner] = 0.5 * (flat[inner] + means[inner])
        triangles = _delaunay(flat)
    return flat, triangles


def _delaunay(flat: np.ndarray) -> np.ndarray:
    """Return the Delaunay triangles of points in a plane, wound clockwise in (x, y), without flat ones on the hull."""
    triangles = scipy.spatial.Delaunay(flat).simplices
    a, b, c = (flat[triangles[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    triangles[area > 0] = triangles[area > 0][:, [0, 2, 1]]
    kept: np.ndarray = triangles[np.abs(area) > FLAT * measure.longest_edges(flat, triangles) ** 2]
    return kept


def noodle(length: float = 1.0, width: float = 0.05, n: int = 60, *, across: int = 3, plane: str = "vertical") -> Mesh:
    """A narrow strip of triangles, with the groups of `cloth`: "top" and "bottom" are its ends.

    Args:
        length: in m.
        width: in m.
        n: vertices along the length, 2 or more.
        across: vertices along the width, 2 or more.
        plane: "vertical" (hangs from y = 0 along −y) or "horizontal" (lies along z).
    """
    check_count("n", n, 2)
    check_count("across", across, 2)
    check_size("length", length)
    strip = cloth(across, n, width=width, height=length, plane=plane)
    return Mesh.from_triangles(strip.vertices, strip.triangles, name="noodle", groups=strip.groups)


def bar(nx: int = 21, ny: int = 5, nz: int = 5, size: tuple[float, float, float] = (1.0, 0.2, 0.2)) -> Mesh:
    """A box of tetrahedra around the origin, six a cell.

    Groups: "left" and "right" (lowest and highest x), "bottom" and "top" (y), "back" and "front" (z), "corners".

    Args:
        nx: vertices along x, 2 or more.
        ny: vertices along y, 2 or more.
        nz: vertices along z, 2 or more.
        size: lengths of the sides, in m.
    """
    nx, ny, nz = counts = check_count("nx", nx, 2), check_count("ny", ny, 2), check_count("nz", nz, 2)
    lengths = real_array(size)
    if lengths is None or lengths.shape != (3,):
        raise InputError(f"size must be three lengths in metres, not {shown(size)}")
    for axis, length in zip("xyz", lengths, strict=True):
        check_size(f"size along {axis}", length)
    name = f"a bar of {' x '.join(map(many, counts))} vertices"
    check_room(name, nx * ny * nz, 6 * (nx - 1) * (ny - 1) * (nz - 1), corners=4, each=270)
    lines = [np.linspace(-0.5, 0.5, count) * length for count, length in zip(counts, lengths, strict=True)]
    vertices = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(nx * ny * nz).reshape(counts)
    groups = {"left": number[0], "right": number[-1], "bottom": number[:, 0], "top": number[:, -1]}
    groups |= {"back": number[:, :, 0], "front": number[:, :, -1], "corners": number[:: nx - 1, :: ny - 1, :: nz - 1]}
    groups = {name: members.ravel() for name, members in groups.items()}
    return Mesh.from_tets(vertices, _grid_tets(number), name="bar", groups=groups)


def cube(n: int = 8, side: float = 1.0) -> Mesh:
    """A cube of tetrahedra around the origin, with the groups of `bar`.

    Args:
        n: vertices along each side, 2 or more.
        side: in m.
    """
    check_count("n", n, 2)
    check_size("side", side)
    box = bar(n, n, n, size=(side, side, side))
    return Mesh.from_tets(box.vertices, box.tets, name="cube", groups=box.groups)


def _grid_tets(number: np.ndarray) -> np.ndarray:
    """Split every cell of a grid of vertex numbers into the six tetrahedra around its long diagonal (Kuhn).

    Each walks from the lowest corner to the highest along the axes in one order. All cells are split alike, so faces
    match without any rule for odd and even cells.
    """

    def corner(steps: np.ndarray) -> np.ndarray:
        return number[tuple(slice(s, s + m - 1) for s, m in zip(steps, number.shape, strict=True))].ravel()

    tets = []
    for order in permutations(range(3)):
        steps = np.zeros((4, 3), int)
        for k, axis in enumerate(order):
            steps[k + 1 :, axis] = 1
        walk = [corner(step) for step in steps]
        if np.linalg.det(np.eye(3)[list(order)]) < 0:  # an odd order walks around the other way
            walk[2], walk[3] = walk[3], walk[2]
        tets.append(np.column_stack(walk))
    return np.stack(tets, axis=1).reshape(-1, 4)


def _check_torus(segments: int, disc: int) -> None:
    """Refuse a torus that does not fit: at most two triangles for every vertex of a section, three tetrahedra each."""
    check_room(f"a torus of {many(segments)} sections", segments * disc, 6 * segments * disc, corners=4, each=330)


def torus(
    major: float = 0.35,
    minor: float = 0.15,
    segments: int = 36,
    rings: int = 3,
    *,
    section: Sequence[int] | None = None,
) -> Mesh:
    """A solid torus of tetrahedra around the y axis. Groups: "surface", "top", "bottom", "core" (innermost vertices).

    Its section is a disc of `rings` rings of 6, 12, 18, ... vertices around a centre; or one of rings of other numbers,
    such as (6, 25), few inside and many on the surface.

    Args:
        major: distance from the axis to the centre of a section, in m.
        minor: radius of a section, in m; less than `major`.
        segments: sections around the axis, 3 or more.
        rings: 1 or more.
        section: vertices of each ring of the section from the inside out, never fewer, instead of `rings`: 3 or more,
            the innermost 1 (the centre) or 3 or more.
    """
    segments, rings = check_count("segments", segments, 3), check_count("rings", rings, 1)
    if section is None:
        _check_torus(segments, 1 + 3 * rings * (rings + 1))
        section = [1, *(6 * k for k in range(1, rings + 1))]
    if (
        not isinstance(section, (Sequence, np.ndarray))
        or isinstance(section, str)
        or getattr(section, "shape", 1) == ()
    ):
        raise InputError(f"section must be rings of vertices from the inside out, not {shown(section)}")
    counts = [
        check_count("a ring of the section", count, 1 if k == 0 and len(section) > 1 else 3)
        for k, count in enumerate(section)
    ]
    _check_torus(segments, sum(counts))
    if not counts or counts[0] == 2 or sorted(counts) != counts:
        raise InputError(
            "section must be rings of vertices from the inside out, such as (1, 6, 12) or (6, 25), "
            f"not {shown(section)}"
        )
    check_size("major", major)
    check_size("minor", minor)
    if minor >= major:
        raise InputError(f"minor must be less than major ({major}), not {minor}: the torus would overlap itself")
    # Rings lie at even distances; without a centre, the innermost has the radius that would leave room for one.
    level = np.arange(len(counts)) + (counts[0] > 1)
    radii = np.repeat(level, counts)
    turns = np.concatenate([np.arange(count) / count for count in counts]) * 2 * np.pi
    disc = (radii * minor / level[-1])[:, None] * np.column_stack([np.cos(turns), np.sin(turns)])
    # Sorting the corners of a triangle fixes the diagonals of a prism's sides by the disc's numbers alone, so they
    # match between neighbours and where the torus closes.
    a, b, c = np.sort(_delaunay(disc), axis=1).T
    here = np.arange(segments)[:, None] * len(disc)
    there = np.roll(here, -1, axis=0)
    prisms = [(a + here, b + here, c + here, c + there), (a + here, b + here, b + there, c + there)]
    prisms += [(a + here, a + there, b + there, c + there)]
    tets = np.concatenate([np.stack(corners, axis=-1).reshape(-1, 4) for corners in prisms])
    angle = np.repeat(np.arange(segments) * 2 * np.pi / segments, len(disc))
    out, up = np.tile(disc, (segments, 1)).T
    vertices = np.column_stack([(major + out) * np.cos(angle), up, (major + out) * np.sin(angle)])
    inverted = measure.tet_volumes(vertices, tets) < 0
    tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
    ring = np.tile(radii, segments)
    groups = {
        "surface": np.flatnonzero(ring == level[-1]),
        "core": np.flatnonzero(ring == level[0]),
        "top": np.flatnonzero(up > 0.8 * minor),
        "bottom": np.flatnonzero(up < -0.8 * minor),
    }
    return Mesh.from_tets(vertices, tets, name="torus", groups=groups)
