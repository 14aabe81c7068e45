"""Which rigid bodies touch, and where.

    detector = BodyDetector([vv.collisions.Plane(), vv.collisions.Sphere((0, 1, 0), 0.5)], [False, True])
    contacts = detector.find(positions, rotations, reach=0.01)

Boxes around bodies are paired by the grid that soft bodies use; pairs whose bounding balls are apart are forgotten, and
the others looked at closely. The order of contacts does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import SMALL, check_threads, run_once
from ..checks import LARGEST, check_within, real_array, shown
from ..collisions.colliders import Collider
from ..collisions.kernels.box_pairs import broad_phase_pairs
from ..errors import InputError
from .contacts import ContactPoints
from .cores import HALF_SPACE, Cores
from .geometry import check_geometries
from .kernels import pairs as kernels
from .kernels.narrow import narrow

FEW = 100  # bodies that are not worth a grid
MOST = 4  # contacts of a pair: fewer for lines (2) and spheres (1)


class BodyDetector:
    """Finds the contacts of rigid bodies."""

    def __init__(self, geometries: Sequence[Collider], movable: Any):
        """Take bodies apart into cores and radii.

        Args:
            geometries: what each body is made of: Sphere, Box, Capsule, ConvexMesh or Plane.
            movable: (M,) truth values; no contacts are found between two bodies that are not. A Plane never is.
        """
        geometries = check_geometries(geometries)
        self.movable = _truths(movable, len(geometries))
        self.cores = cores = Cores(geometries)
        planes = cores.dimensions == HALF_SPACE
        bad = np.flatnonzero(planes & self.movable)
        if len(bad):
            raise InputError(f"body {bad[0]} is a Plane, which cannot move; make it a Box, or not movable")
        self._planes = np.flatnonzero(planes)
        self._moving = np.flatnonzero(self.movable).astype(np.int32)
        standing = np.flatnonzero(~self.movable & ~planes).astype(np.int32)
        self._order = np.concatenate([self._moving, standing])
        self._most = np.where(planes, MOST, np.minimum(2 ** np.maximum(cores.dimensions, 0), MOST)).astype(np.int32)
        faces = np.diff(cores.tables["faces_at"]).max()
        self._room = np.array([cores.most_corners, faces, cores.longest_loop], np.int64)
        self._bodies: dict[str, np.ndarray] = {"dimensions": cores.dimensions, "radii": cores.radii}
        self._bodies |= {"first": cores.first, "last": cores.last}

    def find(
        self, positions: np.ndarray, rotations: np.ndarray, reach: float | np.ndarray, threads: int | None = 1
    ) -> ContactPoints:
        """Return the contacts of bodies in these places.

        Args:
            positions: (M, 3) of the bodies' frames (see `geometry`), in m.
            rotations: (M, 3, 3) matrices from the bodies' frames to the world.
            reach: in m: contacts are found where the gap between two bodies is no larger. Or (M,): how far each body
                reaches; the gap is then at most the sum of both.
            threads: None for one for each core.
        """
        count = len(self.movable)
        positions = _poses("positions", positions, (count, 3))
        rotations = _poses("rotations", rotations, (count, 3, 3))
        check_within("positions", positions, LARGEST)
        reaches, threads = _reaches(reach, count), check_threads(threads)
        arrays = {"positions": positions.ravel(), "rotations": rotations.ravel(), "reaches": reaches}
        pairs = self._pairs(positions, arrays, threads)
        if len(pairs) == 0:
            return ContactPoints.none()
        starts, counts = kernels.rooms(pairs, self._most), np.zeros(len(pairs), np.int32)
        spots, found = np.empty(kernels.SPOT * starts[-1]), np.empty(starts[-1], np.int64)
        shared = {"pairs": pairs.ravel(), "starts": starts, "counts": counts, "spots": spots}
        search = shared | arrays | self._bodies | self.cores.tables | {"features": found, "room": self._room}
        search |= {"patterns": self.cores.pattern, "sizes": self.cores.sizes}
        run_once(Phase(narrow, search, 0, len(pairs)), threads)
        places = kernels.running(counts)
        total = int(places[-1])
        contacts = ContactPoints(
            np.empty((total, 2), np.int32), np.empty((total, 3)), np.empty((total, 3)), np.empty(total),
            np.empty(total, np.int64),
        )  # fmt: skip
        out = {name: array.ravel() for name, array in vars(contacts).items()}
        _run(Phase(kernels.gather, shared | out | {"places": places, "found": found}, 0, len(pairs)), threads)
        return contacts

    def boxes(self, positions: np.ndarray, rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corners of boxes around the bodies, (M, 3) each; infinite for half spaces."""
        count = len(self.movable)
        low, high = np.full((count, 3), -np.inf), np.full((count, 3), np.inf)
        arrays = {"positions": _poses("positions", positions, (count, 3)).ravel()}
        arrays |= {"rotations": _poses("rotations", rotations, (count, 3, 3)).ravel(), "reaches": np.zeros(count)}
        low[self._order], high[self._order] = self._bounds(arrays, 1)
        return low, high

    def _bounds(self, arrays: dict[str, np.ndarray], threads: int) -> tuple[np.ndarray, np.ndarray]:
        """The same of all but half spaces, those that move first, with their reach around them."""
        order = self._order
        lower, upper = np.empty((len(order), 3)), np.empty((len(order), 3))
        boxes = {**self._bodies, **arrays, "vertices": self.cores.tables["vertices"], "order": order}
        _run(Phase(kernels.bounds, boxes | {"lower": lower.ravel(), "upper": upper.ravel()}, 0, len(order)), threads)
        return lower, upper

    def _pairs(self, positions: np.ndarray, arrays: dict[str, np.ndarray], threads: int) -> np.ndarray:
        """(P, 2) int32 pairs that may touch, sorted, the lower number first."""
        count, sizes, order, moving = len(positions), self.cores.sizes, self._order, self._moving
        lower, upper = self._bounds(arrays, threads)
        turns = arrays["rotations"].reshape(count, 3, 3)
        over = kernels.over_planes(self._planes, moving, positions, turns, sizes, arrays["reaches"])
        found = [over, *(order[own] for own in _overlapping(lower, upper, len(moving), threads))]
        pairs = np.ascontiguousarray(np.concatenate(found))
        keep = np.zeros(len(pairs), np.int32)
        balls = {"pairs": pairs.ravel(), "positions": arrays["positions"], "reaches": arrays["reaches"]}
        _run(Phase(kernels.near, balls | {"sizes": sizes, "keep": keep}, 0, len(pairs)), threads)
        ordered: np.ndarray = kernels.sort_pairs(pairs, keep, count)
        return ordered


def _overlapping(lower: np.ndarray, upper: np.ndarray, moving: int, threads: int) -> Iterator[np.ndarray]:
    """Pairs of boxes of which one is among the first `moving` at least."""
    if len(lower) <= FEW:
        yield kernels.all_pairs(lower, upper, moving)
        return
    own = lower[:moving], upper[:moving]
    if moving > 1:
        yield broad_phase_pairs(*own, None, threads)
    if 0 < moving < len(lower):
        yield broad_phase_pairs(*own, (lower[moving:], upper[moving:]), threads) + np.array([0, moving], np.int32)


def _run(phase: Phase, threads: int) -> None:
    run_once(phase, threads if phase.end > SMALL else 1)


def _truths(movable: Any, count: int) -> np.ndarray:
    truths = np.asarray(movable)
    if truths.shape != (count,) or truths.dtype != bool:
        raise InputError(f"movable must be {count} truth values, one for each body, not {shown(movable)}")
    return truths.copy()


def _poses(what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = real_array(value)
    if array is None or array.shape != shape:
        raise InputError(f"{what} must be numbers of shape {shape}, not {shown(value)}")
    if not np.isfinite(array).all():
        bad = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InputError(f"{what} must be finite; that of body {bad} is not: {array[bad].tolist()}")
    return np.ascontiguousarray(array)


def _reaches(reach: Any, count: int) -> np.ndarray:
    array = real_array(reach)
    if array is None or array.shape not in ((), (count,)):
        raise InputError(f"reach must be a number, or {count}, one for each body, not {shown(reach)}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise InputError(f"reach must be a distance in metres, 0 or more, not {float(array.ravel()[bad[0]])}")
    return np.full(count, 0.5 * float(array)) if array.shape == () else np.ascontiguousarray(array)
