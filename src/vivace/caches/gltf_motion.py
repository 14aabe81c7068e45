"""What moves in a glTF: transforms of nodes and weights of morph targets, at any time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .gltf_data import Document

DEEPEST = 200  # nodes below nodes
PATHS = {"translation": 3, "rotation": 4, "scale": 3}


class Track:
    """Values of one thing over time: keys, and what is between them."""

    def __init__(self, document: Document, sampler: dict[str, Any], width: int | None):
        self.keys = document.array(sampler["input"], 1).astype(np.float64)
        self.kind = sampler.get("interpolation", "LINEAR")
        if self.kind not in ("LINEAR", "STEP", "CUBICSPLINE") or not len(self.keys):
            raise ValueError(f"an animation is interpolated by {self.kind!r}, or has no keys")
        if not np.isfinite(self.keys).all() or (np.diff(self.keys) <= 0).any():
            raise ValueError("keys of an animation do not rise")
        self._document, self._output, self._width = document, sampler["output"], width
        self.values = None if width is None else document.array(self._output, width)
        if self.values is not None and len(self.values) != self._times_three * len(self.keys):
            raise ValueError("an animation has not as many values as keys")

    @property
    def _times_three(self) -> int:
        """Cubic splines have tangents before and after each value."""
        return 3 if self.kind == "CUBICSPLINE" else 1

    def between(self, time: float) -> tuple[int, int, float]:
        """The keys around a time, and how far it is from the first to the second."""
        after = int(np.searchsorted(self.keys, time, side="right"))
        one, two = max(after - 1, 0), min(after, len(self.keys) - 1)
        if one == two or time <= self.keys[0]:
            return (one, one, 0.0) if time > self.keys[0] else (0, 0, 0.0)
        share = float((time - self.keys[one]) / (self.keys[two] - self.keys[one]))
        return one, two, 0.0 if self.kind == "STEP" else share

    def at(self, time: float) -> np.ndarray:
        """The value, (width,)."""
        one, two, share = self.between(time)
        return self._blend(self.row(one), self.row(two), share, self.keys[two] - self.keys[one])

    def row(self, key: int) -> np.ndarray:
        """The value at a key; of a spline, with the tangents before and after it, (3, width)."""
        assert self.values is not None
        k = self._times_three
        return np.asarray(self.values[k * key : k * key + k], np.float64)

    def _blend(self, one: np.ndarray, two: np.ndarray, t: float, length: float) -> np.ndarray:
        middle = self._times_three // 2
        a, b = one[middle], two[middle]
        if t == 0:
            return np.asarray(a)
        if self.kind == "CUBICSPLINE":
            rising, falling = length * one[2], length * two[0]
            spline = (2 * t**3 - 3 * t**2 + 1) * a + (t**3 - 2 * t**2 + t) * rising
            return np.asarray(spline + (3 * t**2 - 2 * t**3) * b + (t**3 - t**2) * falling)
        if self._width == 4:
            return _slerp(a, b, t)
        return np.asarray((1 - t) * a + t * b)


class WeightTrack(Track):
    """Weights of many targets, of which few are not zero: a table that is perhaps sparse, looked at row by row."""

    def __init__(self, document: Document, sampler: dict[str, Any], targets: int):
        super().__init__(document, sampler, None)
        self.targets = targets
        accessor = document.item("accessors", self._output)
        if document.count(accessor) != self._times_three * len(self.keys) * targets:
            raise ValueError("an animation has not as many weights as keys and targets")
        self._sparse = None
        if "sparse" in accessor and "bufferView" not in accessor:
            self._sparse = document.sparse(accessor, 1)
        else:
            self.values = document.array(self._output, 1, normalised=True).reshape(-1, targets)

    def row(self, key: int) -> np.ndarray:
        """(1, targets), or of a spline (3, targets)."""
        if self._sparse is None:
            return super().row(key)
        k = self._times_three
        where, values = self._sparse
        low, high = np.searchsorted(where, [k * key * self.targets, k * (key + 1) * self.targets])
        found = np.zeros(k * self.targets)
        found[where[low:high] - k * key * self.targets] = values[low:high, 0]
        return found.reshape(k, self.targets)


class Motion:
    """The first animation of a document, and what stands still."""

    def __init__(self, document: Document):
        self._document = document
        self._tracks: dict[tuple[int, str], Track] = {}
        for animation in document.table("animations")[:1]:
            for channel in animation["channels"]:
                self._add(animation["samplers"][channel["sampler"]], channel["target"])
        self.keys = np.unique(np.concatenate([[], *(track.keys for track in self._tracks.values())]))
        if not len(self.keys):
            self.keys = np.zeros(1)
        self.times = self.keys
        self._parent = self._parents()
        self.visible = [node for node in range(len(document.nodes)) if node in self._parent]

    def _add(self, sampler: dict[str, Any], target: dict[str, Any]) -> None:
        node, path = target.get("node"), target["path"]
        if node is None:
            return
        if path == "weights":
            mesh = self._document.item("meshes", self._document.item("nodes", node)["mesh"])
            targets = max(len(primitive.get("targets", [])) for primitive in mesh["primitives"])
            self._tracks[node, path] = WeightTrack(self._document, sampler, targets)
        elif path in PATHS:
            self._tracks[node, path] = Track(self._document, sampler, PATHS[path])

    def _parents(self) -> dict[int, int | None]:
        """Of every node of the scene, which node is above it; a node has one place."""
        scenes = self._document.table("scenes")
        roots = (
            scenes[self._document.root.get("scene", 0)].get("nodes", []) if scenes else range(len(self._document.nodes))
        )
        found: dict[int, int | None] = {}
        level: list[tuple[int, int | None]] = [(int(node), None) for node in roots]
        for _ in range(DEEPEST):
            below: list[tuple[int, int | None]] = []
            for node, parent in level:
                if node in found:
                    raise ValueError(f"node {node} is in two places")
                found[node] = parent
                below += [(int(child), node) for child in self._document.item("nodes", node).get("children", [])]
            level = below
        if level:
            raise ValueError(f"nodes are more than {DEEPEST} deep")
        return found

    def world(self, node: int, time: float) -> np.ndarray:
        """(4, 4) where a node is."""
        found, now = np.eye(4), node if node in self._parent else None
        while now is not None:
            found, now = self._local(now, time) @ found, self._parent[now]
        return found

    def _local(self, node: int, time: float) -> np.ndarray:
        said = self._document.nodes[node]
        if "matrix" in said:
            return np.array(said["matrix"], float).reshape(4, 4).T
        defaults = {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1]}
        parts = {}
        for path, default in defaults.items():
            track = self._tracks.get((node, path))
            parts[path] = np.array(said.get(path, default), float) if track is None else track.at(time)
        local = np.eye(4)
        local[:3, :3] = _matrix(parts["rotation"]) * parts["scale"]
        local[:3, 3] = parts["translation"]
        return local

    def weights(self, node: int, time: float, targets: int) -> Iterator[tuple[int, float]]:
        """Targets of a node's mesh that have a weight, and which."""
        track = self._tracks.get((node, "weights"))
        said = self._document.nodes[node]
        still = said.get("weights") or self._document.item("meshes", said["mesh"]).get("weights") or []
        values = np.asarray(still if track is None else track.at(time), float)
        for target in np.flatnonzero(values[:targets]):
            yield int(target), float(values[target])


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Of a quaternion, the scalar last."""
    x, y, z, w = quaternion / max(float(np.linalg.norm(quaternion)), 1e-12)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _slerp(a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
    """Between two rotations, the shorter way."""
    cosine = float(a @ b)
    b, cosine = (b, cosine) if cosine >= 0 else (-b, -cosine)
    angle = float(np.arccos(min(cosine, 1.0)))
    if angle < 1e-6:
        return np.asarray((1 - t) * a + t * b)
    return np.asarray((np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle))
