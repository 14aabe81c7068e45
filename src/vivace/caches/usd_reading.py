"""Reading USD: every mesh of a file, where its transforms place it, as one. Files that refer to others are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from .base import Content, check_promise, damaged
from .polygons import fans
from .told import apply_told, told


def content(path: Path) -> Content:
    """What there is, with times from the samples of points and transforms."""
    from pxr import Sdf, Tf, Usd, UsdGeom

    try:
        layer = Sdf.Layer.FindOrOpen(str(path))
        if layer is None:
            raise damaged(path, "USD does not open it")
        others = sorted(layer.GetCompositionAssetDependencies())
        if others:
            raise FileError(
                f"cannot read {path}: it refers to other files ({others[0]}); flatten it first (usdcat --flatten)"
            )
        stage = Usd.Stage.Open(layer)
        prims = list(stage.Traverse())
        if any(prim.HasAuthoredMetadata("clips") for prim in prims):
            raise FileError(f"cannot read {path}: its samples are in other files (clips); flatten it first")
        meshes = [UsdGeom.Mesh(prim) for prim in prims if prim.IsA(UsdGeom.Mesh)]
        if not meshes:
            raise damaged(path, "it has no mesh")
        return _joined(path, stage, meshes)
    except Tf.ErrorException as error:
        raise damaged(path, str(error).strip().splitlines()[-1][:100]) from None


def _joined(path: Path, stage: Any, meshes: list[Any]) -> Content:
    from pxr import UsdGeom

    codes, triangles, uvs, total = set[float](), [], [], 0
    for mesh in meshes:
        codes |= _codes(mesh)
        first = mesh.GetPointsAttr().Get(stage.GetStartTimeCode() if not codes else min(codes))
        counts, corners = mesh.GetFaceVertexCountsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()
        if first is None or counts is None or corners is None:
            raise damaged(path, f"{mesh.GetPath()} has no points or faces")
        if mesh.GetFaceVertexIndicesAttr().GetNumTimeSamples() > 1:
            raise FileError(f"cannot read {path}: the faces of {mesh.GetPath()} change over time")
        flipped = mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded
        triangles.append(fans(path, np.asarray(counts), np.asarray(corners), len(first), flipped) + total)
        uvs.append(_uvs(mesh, len(first)))
        total += len(first)
    times = sorted(codes) or [stage.GetStartTimeCode()]
    check_promise(path, len(times), total, path.stat().st_size)
    second = stage.GetTimeCodesPerSecond() or 24.0
    found = Content(
        len(times),
        total,
        _frames(path, stage, meshes, times, total),
        np.concatenate(triangles),
        np.array(times) / second,
    )
    known = [part for part in uvs if part is not None]
    if len(known) == len(uvs):
        found.uvs = np.concatenate(known)
    prim = meshes[0].GetPrim()
    found.name = prim.GetDisplayName() or prim.GetName()
    found.metres = float(UsdGeom.GetStageMetersPerUnit(stage))
    found.up = str(UsdGeom.GetStageUpAxis(stage)).lower()
    return apply_told(found, told(stage.GetRootLayer().documentation))


def _codes(mesh: Any) -> set[float]:
    """When anything about a mesh changes."""
    from pxr import UsdGeom

    found, prim = set(mesh.GetPointsAttr().GetTimeSamples()), mesh.GetPrim()
    while prim:
        if prim.IsA(UsdGeom.Xformable):
            found |= set(UsdGeom.Xformable(prim).GetTimeSamples())
        prim = prim.GetParent()
    return found


def _uvs(mesh: Any, count: int) -> np.ndarray | None:
    """Of vertices; those of corners are not read."""
    from pxr import UsdGeom

    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    values = primvar.ComputeFlattened() if primvar and primvar.HasValue() else None
    return None if values is None or len(values) != count else np.array(values, np.float32).reshape(count, 2)


def _frames(path: Path, stage: Any, meshes: list[Any], times: list[float], total: int) -> Iterator[np.ndarray]:
    """`stage` is held: without it there is nothing to read."""
    from pxr import UsdGeom

    for number, time in enumerate(times):
        places, parts = UsdGeom.XformCache(time), []
        for mesh in meshes:
            points = np.array(mesh.GetPointsAttr().Get(time), np.float32).reshape(-1, 3)
            placed = np.array(places.GetLocalToWorldTransform(mesh.GetPrim()))
            moved = points if (placed == np.eye(4)).all() else points @ placed[:3, :3] + placed[3, :3]
            parts.append(moved.astype(np.float32, copy=False))
        frame = np.concatenate(parts)
        if len(frame) != total:
            raise damaged(path, f"frame {number} has {len(frame)} vertices, and the first {total}")
        yield frame
    del stage
