"""Pins that move: vertices whose targets follow a path.

A path is what says where pins are at a time (s):

    Keyframes(times, shifts, rotations)     all are shifted, and turned about their middle, together
    a function of the time                  a shift (3,), a pair (shift, rotation vector), or places (k, 3) of them all
    an Animation                            places over time, of arrays or of a file (`vivace.caches.read`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..caches.animation import Animation
from ..checks import LARGEST, as_numbers, shown
from ..errors import InputError, VivaceError
from ..rigid import rotation
from ..storage import storable

Path = Callable[[float], Any] | Animation


@storable("pin-path")
@dataclass(frozen=True, eq=False)
class PinPath:
    """Pinned vertices that follow a path.

    Attributes:
        vertices: (p,) their numbers, sorted.
        rows: (p,) which of the places that the path tells is that of each.
        count: how many places it tells, where it does.
        centre: (3,) what rotations turn them about.
        path: see the module.
    """

    vertices: np.ndarray
    rows: np.ndarray
    count: int
    centre: np.ndarray
    path: Any

    def __post_init__(self) -> None:
        if not (isinstance(self.path, Animation) or callable(self.path)):
            raise InputError(
                "the path of pins is made of vivace.Keyframes, a function of the time or an Animation "
                f"(vivace.caches.read), not {shown(self.path)}"
            )
        vertices, rows, centre = (np.asarray(part) for part in (self.vertices, self.rows, self.centre))
        whole = vertices.dtype.kind in "iu" and rows.dtype.kind in "iu" and vertices.shape == rows.shape == (len(rows),)
        if not whole or centre.shape != (3,) or (len(rows) and not 0 <= rows.min() <= rows.max() < self.count):
            raise InputError("a path of pins names the rows of its vertices among the places that it tells")

    def places(self, time: float, home: np.ndarray) -> np.ndarray:
        """(p, 3) where the vertices are held at a time (s); `home`: (p, 3) where their pins would hold them."""
        if isinstance(self.path, Animation):
            return self._chosen(self.path.at(time))
        told = self.path(float(time))
        if isinstance(told, tuple) and len(told) == 2:
            shift, turn = (as_numbers(f"the path of pins, its {what}, at {time:g} s", part, (3,), most=LARGEST)
                           for what, part in zip(("shift", "rotation"), told, strict=True))  # fmt: skip
            matrix = rotation.matrices(rotation.exponential(turn[None]))[0]
            return np.asarray(self.centre + shift + (home - self.centre) @ matrix.T)
        if np.ndim(told) == 1:
            return np.asarray(home + as_numbers(f"the path of pins at {time:g} s", told, (3,), most=LARGEST))
        return self._chosen(told)

    def _chosen(self, told: Any) -> np.ndarray:
        """The places of its own vertices."""
        found: np.ndarray = as_numbers("places of a path of pins", told, (self.count, 3), most=LARGEST)[self.rows]
        return found

    def among(self, vertices: np.ndarray, parents: np.ndarray) -> PinPath:
        """The path of other vertices (k,), each of which is one of these, or a copy of it: `parents` (k,)."""
        at = np.searchsorted(self.vertices, parents)
        return replace(self, vertices=vertices, rows=self.rows[at])


def as_path(path: Any, index: np.ndarray, order: np.ndarray, targets: np.ndarray, n: int) -> PinPath:
    """The path of pins of vertices `index` (p,), checked; `order`: where each stands in what the user gave.

    An animation may have a place for each pin, or for each of the mesh's n vertices.
    """
    count, rows = len(index), order
    if isinstance(path, Animation):
        if path.n_vertices == n != len(index):
            count, rows = n, index
        elif path.n_vertices != len(index):
            raise InputError(
                f"the animation has {path.n_vertices} vertices; as the path of {len(index)} pins it needs as many, or "
                f"the {n} of the whole mesh"
            )
    made = PinPath(index.astype(np.int64), rows.astype(np.int64), count, targets.mean(axis=0), path)
    try:
        made.places(0.0, targets)  # complain now, not at the first step
    except VivaceError:
        raise
    except Exception as error:  # of a function of somebody's own
        raise InputError(f"the path of pins cannot be told at 0 s: {error!r:.200}") from error
    return made


def check_paths(paths: Sequence[Any], pinned: np.ndarray, attached: Iterable[int]) -> None:
    """Paths are of vertices that are pinned, once each, and that follow nothing else."""
    if not isinstance(paths, tuple) or not all(isinstance(one, PinPath) for one in paths):
        raise InputError(f"paths of pins are made by Model.pin(..., path=...), not {shown(paths)}")
    if not paths:
        return
    led = np.concatenate([one.vertices for one in paths])
    if len(np.unique(led)) < len(led):
        raise InputError("a pinned vertex follows one path, not two")
    free = np.setdiff1d(led, np.setdiff1d(pinned, np.array(list(attached), np.int64)))
    if len(free):
        raise InputError(f"vertex {free[0]} is not pinned, so that it cannot follow a path")


def without(paths: tuple[PinPath, ...], vertices: np.ndarray) -> tuple[PinPath, ...]:
    """Paths that some vertices follow no longer."""
    every = np.concatenate([one.vertices for one in paths]) if paths else vertices
    return following(paths, np.setdiff1d(every, vertices))


def following(paths: tuple[PinPath, ...], vertices: np.ndarray) -> tuple[PinPath, ...]:
    """Paths of these vertices alone, as far as they follow any."""
    kept = []
    for one in paths:
        stay = one.vertices[np.isin(one.vertices, vertices)]
        if len(stay) == len(one.vertices):
            kept.append(one)
        elif len(stay):
            kept.append(one.among(stay, stay))
    return tuple(kept)
