"""A closed mesh as a collider: its signed distance, sampled once on a grid and kept on disk."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import Plan, default_threads
from ..checks import LARGEST, as_numbers, check_flag, is_number, shown
from ..errors import FileError, InputError
from ..files import replacing
from ..mesh import Mesh
from ..mesh.filling import require_closed
from ..storage import storable
from .colliders import Collider, Encoded, Friction
from .kernels import distance as kernels
from .kernels import sampling

Progress = Callable[[str, int, int], None]

CELLS = 64  # along the longest side, unless a spacing is asked for
PADDING = 3  # cells around the mesh
MOST_SAMPLES = 2**27  # half a gigabyte
LEAF = 4  # triangles in a leaf of the tree
FORMAT = 1  # of the files in the cache


@storable("sampled")
@dataclass(frozen=True, eq=False, repr=False)
class Sampled(Collider):
    """A closed mesh. Build one with `Sampled.of`.

    Between samples the distance is trilinear: exact at the samples, and off by at most √3/2 of the spacing anywhere,
    which is only reached at sharp edges and half-way between two faces; along smooth parts the error falls with the
    square of the spacing. Parts thinner than the spacing may be missed.

    Attributes:
        mesh: the surface.
        spacing: distance of the samples, in m.
        origin: position of the first sample, in m.
        samples: (z, y, x) float32 signed distances, in m.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
    """

    mesh: Mesh
    spacing: float
    origin: tuple[float, float, float]
    samples: np.ndarray
    friction: Friction = None

    def __post_init__(self) -> None:
        shape = np.zeros(kernels.SHAPE)
        shape[:4] = *self.origin, self.spacing
        self.samples.flags.writeable = False
        # Interpolated samples may be negative up to a cell outside the mesh.
        bounds = np.concatenate([self.mesh.bounds[0] - self.spacing, self.mesh.bounds[1] + self.spacing])
        self._settle(Encoded(kernels.SAMPLES, shape, bounds, self.samples))

    @classmethod
    def of(
        cls,
        mesh: Mesh,
        spacing: float | None = None,
        progress: Progress | None = None,
        cache: bool = True,
        friction: Friction = None,
    ) -> Sampled:
        """Sample the distance to a closed, evenly wound triangle mesh.

        Inside is what the surface winds around, whichever way it faces; parts that overlap count as one.

        Args:
            mesh: the surface, closed and with neighbouring triangles wound alike.
            spacing: distance of the samples, in m; None for a 64th of the longest side.
            progress: called as `progress(what, done, total)`.
            cache: look in `$XDG_CACHE_HOME/vivace` (or `~/.cache/vivace`) first, and leave the samples there.
            friction: a coefficient, or (static, kinetic), or None for the simulation's own.
        """
        require_closed(mesh)
        check_flag("cache", cache)
        _require_wound_alike(mesh)
        low, high = mesh.bounds
        if spacing is None:
            spacing = float((high - low).max()) / CELLS
        if not is_number(spacing) or not spacing > 0:
            raise InputError(f"spacing must be a positive length in metres, not {shown(spacing)}")
        spacing = float(spacing)
        cells = np.ceil((high - low) / spacing) + 2 * PADDING
        if np.prod(cells + 1) > MOST_SAMPLES:
            least = float((np.prod(high - low) / MOST_SAMPLES) ** (1 / 3))
            raise InputError(
                f"a spacing of {spacing} m makes {np.prod(cells + 1):.3g} samples of {mesh.name!r}, more than "
                f"{MOST_SAMPLES:.3g}; choose one well above {least:.2g} m"
            )
        origin = 0.5 * (low + high) - 0.5 * cells * spacing
        counts = cells.astype(np.int64) + 1
        path = _cached(mesh, spacing) if cache else None
        samples = _read(path, counts) if path else None
        if samples is None:
            samples = _sample(mesh, origin, spacing, counts, progress)
            if path:
                _write(path, samples)
        x, y, z = origin.tolist()
        return cls(mesh, spacing, (x, y, z), samples, friction)

    @classmethod
    def restored(
        cls,
        mesh: Mesh,
        spacing: float,
        origin: tuple[float, float, float],
        samples: np.ndarray,
        friction: Friction = None,
    ) -> Sampled:
        """The same from what is stored of it, after a look at all of it."""
        fits = isinstance(samples, np.ndarray) and samples.dtype == np.float32 and samples.ndim == 3
        if not isinstance(mesh, Mesh) or not fits or min(samples.shape) < 2 or not np.isfinite(samples).all():
            raise InputError("the samples of a collider must be (z, y, x) finite float32 numbers around a mesh")
        if not is_number(spacing) or not spacing > 0:
            raise InputError(f"spacing must be a positive length in metres, not {shown(spacing)}")
        x, y, z = as_numbers("origin", origin, (3,), most=LARGEST).tolist()
        return cls(mesh, float(spacing), (x, y, z), samples, friction)

    def surface(self) -> Mesh:
        """Return the mesh."""
        return self.mesh

    def __repr__(self) -> str:
        nz, ny, nx = self.samples.shape
        return f"<Sampled {self.mesh.name!r}: {nx} x {ny} x {nz} samples, {self.spacing:.3g} m apart>"


def _require_wound_alike(mesh: Mesh) -> None:
    """Raise if two neighbouring triangles run along their edge the same way: one of them faces in."""
    triangles = mesh.triangles.astype(np.int64)
    directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    keys = np.sort((directed[:, 0] << 32) | directed[:, 1])
    twice = keys[1:][keys[1:] == keys[:-1]]
    if len(twice):
        edge = [int(twice[0] >> 32), int(twice[0] & 0xFFFFFFFF)]
        raise InputError(
            f"{mesh.name!r} has triangles that face in beside others that face out ({len(twice)} edges, "
            f"first: {edge}); make its normals consistent in a modelling program"
        )


def _sample(
    mesh: Mesh, origin: np.ndarray, spacing: float, counts: np.ndarray, progress: Progress | None
) -> np.ndarray:
    """Return the (z, y, x) float32 signed distances: exact, up to rounding, at every sample."""
    nx, ny, nz = counts.tolist()
    crossings = np.zeros((nz, ny, nx), np.int32)
    sampling.count_crossings(mesh.vertices, mesh.triangles, origin, spacing, crossings)
    np.cumsum(crossings, axis=2, out=crossings)
    values = np.where(crossings != 0, np.float32(-1), np.float32(1))
    corners, boxes = _tree(mesh.vertices[mesh.triangles])
    grid = np.array([*origin, spacing])
    arrays = {"corners": corners, "boxes": boxes, "grid": grid, "counts": counts, "values": values}
    threads = default_threads()
    for layer in range(nz):
        phase = Phase(sampling.nearest, arrays, layer * ny, (layer + 1) * ny, chunks=min(ny, 4 * threads))
        Plan([phase], threads).run()
        if progress:
            progress("sampling distances", layer + 1, nz)
    return values


def _tree(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of (m, 3, 3) triangles in the order of a tree, and the (nodes, 6) boxes of its nodes.

    Sorted along a Z-shaped curve, runs of neighbours are close in space; the tree halves the runs.
    """
    middle = corners.mean(axis=1)
    low, high = middle.min(axis=0), middle.max(axis=0)
    steps = ((middle - low) / max(float((high - low).max()), 1e-300) * 1023).astype(np.int64)
    code = np.zeros(len(corners), np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((steps[:, axis] >> bit) & 1) << (3 * bit + axis)
    order = np.argsort(code, kind="stable")
    leaves = 1 << max(int(np.ceil(np.log2(len(corners) / LEAF))), 0)
    order = np.concatenate([order, np.full(LEAF * leaves - len(order), order[-1])])
    corners = corners[order]
    boxes = np.zeros((2 * leaves, 6))
    lows, highs = (f(corners.reshape(leaves, 3 * LEAF, 3), axis=1) for f in (np.min, np.max))
    while True:
        level = len(lows)
        boxes[level : 2 * level] = np.concatenate([lows, highs], axis=1)
        if level == 1:
            return np.ascontiguousarray(corners), boxes
        lows, highs = lows.reshape(-1, 2, 3).min(axis=1), highs.reshape(-1, 2, 3).max(axis=1)


# --- the cache ----------------------------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Return the user's folder for what can be computed again; None if there is no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # a relative one is to be ignored, says the XDG specification
        return Path(base) / "vivace"
    try:
        return Path.home() / ".cache" / "vivace"
    except RuntimeError:
        return None


def _cached(mesh: Mesh, spacing: float) -> Path | None:
    from .._version import __version__

    folder = cache_folder()
    if folder is None:
        return None
    digest = hashlib.sha256(f"{__version__} {FORMAT} {spacing!r} {mesh.vertices.shape}".encode())
    digest.update(mesh.vertices.tobytes())
    digest.update(mesh.triangles.tobytes())
    return folder / f"distance-{digest.hexdigest()[:32]}.npz"


def _read(path: Path, counts: np.ndarray) -> np.ndarray | None:
    """Return the samples in a file; None if there is none, or not what should be in it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            samples = file["samples"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    fits = samples.dtype == np.float32 and samples.shape == tuple(counts[::-1]) and bool(np.isfinite(samples).all())
    return np.ascontiguousarray(samples) if fits else None


def _write(path: Path, samples: np.ndarray) -> None:
    """Leave the samples in a file; a cache that cannot be written is none."""
    with suppress(OSError, FileError), replacing(path) as temporary:
        np.savez(temporary, samples=samples)
