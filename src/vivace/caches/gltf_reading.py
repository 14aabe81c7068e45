"""Reading GLB: meshes with their morph targets, skins and moving nodes, baked to vertices at every key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from .base import Content, check_promise, damaged
from .gltf_data import Document
from .gltf_motion import Motion
from .told import apply_told

WRONG = (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, RecursionError)


def content(path: Path) -> Content:
    """All meshes of a file as one, at the times of its first animation."""
    try:
        return _content(path, Document(path))
    except FileError:
        raise
    except WRONG as error:
        raise damaged(path, f"{type(error).__name__}: {error}"[:100]) from None


def _content(path: Path, document: Document) -> Content:
    motion = Motion(document)
    parts = [
        Part(document, node, primitives)
        for node in motion.visible
        if "mesh" in document.nodes[node]
        for primitives in _by_vertices(document.table("meshes")[document.nodes[node]["mesh"]]["primitives"])
    ]
    if not parts:
        raise damaged(path, "it has no triangles")
    starts = np.cumsum([0, *(part.count for part in parts)]).tolist()
    check_promise(path, len(motion.times), starts[-1], path.stat().st_size)
    found = Content(
        len(motion.times),
        starts[-1],
        _frames(path, motion, parts),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts, strict=False)]),
        motion.times,
        metres=1.0,
        up="y",
    )
    uvs = [part.uvs for part in parts if part.uvs is not None]
    if len(uvs) == len(parts):
        found.uvs = np.concatenate(uvs)
    node = document.nodes[parts[0].node]
    name = node.get("name") or document.table("meshes")[node["mesh"]].get("name")
    found.name = name[:200] if isinstance(name, str) else None
    extras = document.root.get("asset", {}).get("extras")
    return apply_told(found, extras if isinstance(extras, dict) else {})


def _by_vertices(primitives: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Triangles of a mesh, those together that have the same vertices and differ in material only."""
    found: dict[str, list[dict[str, Any]]] = {}
    for primitive in primitives:
        if primitive.get("mode", 4) == 4:
            key = json.dumps([primitive["attributes"], primitive.get("targets", [])], sort_keys=True)
            found.setdefault(key, []).append(primitive)
    return list(found.values())


class Part:
    """Primitives of a mesh at a node that share their vertices: what these are made of."""

    def __init__(self, document: Document, node: int, primitives: list[dict[str, Any]]):
        primitive = primitives[0]
        attributes = primitive["attributes"]
        self.node = node
        self.base = document.array(attributes["POSITION"], 3).astype(np.float32)
        self.count = len(self.base)
        given = [document.array(each["indices"], 1) for each in primitives if "indices" in each]
        indices = np.concatenate(given) if len(given) == len(primitives) else np.arange(self.count)
        if len(indices) % 3 or (len(indices) and not 0 <= indices.min() <= indices.max() < self.count):
            raise ValueError(f"its triangles do not fit its {self.count} vertices")
        self.triangles = indices.reshape(-1, 3).astype(np.int32)
        self.uvs = None
        if "TEXCOORD_0" in attributes:
            uvs = document.array(attributes["TEXCOORD_0"], 2, normalised=True)
            self.uvs = np.column_stack([uvs[:, 0], 1 - uvs[:, 1]]).astype(np.float32)
        # Views into the file: nothing is made of a target until its frame comes.
        self._targets = [target.get("POSITION") for target in primitive.get("targets", [])]
        self._document = document
        self._skin(document, document.nodes[node].get("skin"), attributes)
        if any(len(array) != self.count for array in (self.uvs, self.joints, self.shares) if array is not None):
            raise ValueError("its vertices have not as many attributes each")

    def _skin(self, document: Document, number: int | None, attributes: dict[str, int]) -> None:
        self.joints = self.shares = None
        if number is None or "JOINTS_0" not in attributes:
            return
        skin = document.table("skins")[number]
        self.bones = [int(node) for node in skin["joints"]]
        self.joints = document.array(attributes["JOINTS_0"], 4).astype(np.int64)
        self.shares = document.array(attributes["WEIGHTS_0"], 4, normalised=True).astype(np.float64)
        self.inverse = np.tile(np.eye(4), (len(self.bones), 1, 1))
        if "inverseBindMatrices" in skin:
            self.inverse = document.array(skin["inverseBindMatrices"], 16).reshape(-1, 4, 4).swapaxes(1, 2)
        if not 0 <= self.joints.min() <= self.joints.max() < len(self.bones) or len(self.inverse) != len(self.bones):
            raise ValueError("its skin names bones that are not there")

    def at(self, motion: Motion, time: float) -> np.ndarray:
        """(n, 3) float32 where its vertices are."""
        points = self.base
        for target, weight in motion.weights(self.node, time, len(self._targets)):
            accessor = self._targets[target]
            if accessor is not None:
                moved = self._document.array(accessor, 3)
                if len(moved) != self.count:
                    raise ValueError(f"target {target} has {len(moved)} vertices of {self.count}")
                with np.errstate(invalid="ignore", over="ignore"):  # whoever collects frames refuses such numbers
                    points = points + (moved if weight == 1 else np.float32(weight) * moved)
        if self.joints is None or self.shares is None:
            return placed(points, motion.world(self.node, time))
        bones = np.stack(
            [motion.world(node, time) @ inverse for node, inverse in zip(self.bones, self.inverse, strict=True)]
        )
        total = np.maximum(self.shares.sum(axis=1), 1e-12)
        moved = sum((self.shares[:, k] / total)[:, None] * _through(bones[self.joints[:, k]], points) for k in range(4))
        return np.asarray(moved, np.float32)


def _through(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    turned: np.ndarray = np.einsum("nij,nj->ni", matrices[:, :3, :3], points) + matrices[:, :3, 3]
    return turned


def placed(points: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Points where a transform puts them; the same bits where it does nothing."""
    if (world == np.eye(4)).all():
        return points.astype(np.float32, copy=False)
    return np.asarray(points @ world[:3, :3].T + world[:3, 3], np.float32)


def _frames(path: Path, motion: Motion, parts: list[Part]) -> Iterator[np.ndarray]:
    for time in motion.keys:
        try:
            yield np.concatenate([part.at(motion, time) for part in parts])
        except WRONG as error:
            raise damaged(path, f"{type(error).__name__}: {error}"[:100]) from None
