"""Reading caches: times, positions and triangles of a file, in metres with y up."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import as_path, check_file, check_time_step, memory
from ..confined import run_confined
from ..errors import FileError, InputError, UnknownNameError
from .animation import Animation
from .base import CACHES, CacheFormat, Content, check_installed, damaged
from .numbering import Numbered, pattern_in
from .units import UNITS, axes, metres


def read(
    path: str | os.PathLike[str],
    *,
    unit: str | None = None,
    up: str | None = None,
    time_step: float | None = None,
    mesh: Any = None,
) -> Animation:
    """Read vertices over time: USD, GLB, Alembic, PC2, MDD, OBJ and PLY sequences, XDMF (as we write it), NPZ.

    All meshes of a file are taken together, where its transforms place them, and polygons are cut into triangles. A
    file is not trusted: sizes are checked before anything is allocated, nothing in it is run and nothing that it refers
    to is opened; USD, Alembic and XDMF are read by a process of its own, with limits.

    Args:
        path: of the file. A sequence is a pattern, walk/cloth-####.obj, or the folder of its files.
        unit: of the numbers in the file, such as "cm", where it does not say; by default metres.
        up: the axis that points up, "y" or "z", where it does not say; by default y.
        time_step: seconds from one frame to the next, for formats without times (PC2, files of others in sequences).
        mesh: what has `triangles`, for point caches, which have none.

    Raises:
        FileError: if the file is missing, truncated or corrupt, or larger than memory.
        InputError: if its format is unknown, or something is missing that it does not say.
    """
    path, kind = _kind_of(as_path(path))
    if unit is not None:
        metres(unit)
    if up is not None:
        axes(up)
    if kind.foreign:
        return _made(path, *_read_elsewhere(path), unit, up, time_step, mesh)
    content = kind.content(path)
    return _made(path, content, _positions(path, content), unit, up, time_step, mesh)


def content_of(path: Path) -> Content:
    """What a file holds, read here: for the process that is made for it."""
    return _kind_of(path)[1].content(path)


def _kind_of(path: Path) -> tuple[Path, type[CacheFormat]]:
    sequences = [suffix for suffix in CACHES if CACHES[suffix].sequence]
    if path.is_dir():
        path = pattern_in(path, sequences)
    suffix = path.suffix.lower()
    if suffix not in CACHES:
        raise UnknownNameError(f"format of caches, of {path}:", suffix, CACHES)
    kind = CACHES[suffix]
    check_installed(kind)
    if kind.sequence:
        Numbered.of(path)
    else:
        check_file(path)
    return path, kind


def _positions(path: Path, content: Content) -> np.ndarray:
    """(f, n, 3) float32 of a content, allocated once its size is known to be sensible."""
    size = 12 * content.count * content.vertices
    if size > memory() // 2:
        raise FileError(
            f"cannot read {path}: its positions take {size / 1e9:.3g} GB, and there are {memory() / 1e9:.3g}"
        )
    found = np.empty((content.count, content.vertices, 3), np.float32)
    number = -1
    for number, frame in enumerate(content.frames):
        found[number] = frame
        if not np.isfinite(found[number]).all():
            raise damaged(path, f"frame {number} has positions that are not finite")
    if number + 1 != content.count:
        raise damaged(path, f"it has {number + 1} of {content.count} frames")
    return found


def _read_elsewhere(path: Path) -> tuple[Content, np.ndarray]:
    """What a process of its own read, left as an NPZ."""
    with tempfile.TemporaryDirectory(prefix="vivace-") as folder:
        target = Path(folder) / "read.npz"
        try:
            run_confined("vivace.caches.process", [str(path), str(target)], target, seconds=seconds_for(path))
        except FileError as error:
            why = str(error)
            raise (error if why.startswith("cannot read") else FileError(f"cannot read {path}: {why}")) from None
        content = CACHES[".npz"].content(target)
        return content, _positions(target, content)


def seconds_for(path: Path) -> float:
    """That reading a file may take."""
    return 60 + path.stat().st_size / 10e6


def _made(
    path: Path,
    content: Content,
    positions: np.ndarray,
    unit: str | None,
    up: str | None,
    time_step: float | None,
    mesh: Any,
) -> Animation:
    length = metres(unit) if content.metres is None and unit is not None else content.metres or 1.0
    axis = content.up or up or "y"
    if not (np.isfinite(length) and 1e-9 <= length <= 1e9):
        raise damaged(path, f"its unit has {length!r} metres")
    if length != 1:
        positions *= np.float32(length)
    if axis != "y":
        positions = positions @ axes(axis).T.astype(np.float32)
    times = content.times
    if times is None:
        if time_step is None:
            raise InputError(f"{path} does not say how long a frame lasts; give time_step, such as time_step=1 / 24")
        times = check_time_step(time_step) * np.arange(content.count)
    triangles = content.triangles if mesh is None else mesh.triangles
    named = next((name for name, value in UNITS.items() if abs(value - length) < 1e-6 * value), f"{length:g} m")
    name = content.name or path.stem.replace("#", "").strip("-_. ") or "animation"
    try:
        return Animation(times, positions, triangles, content.uvs, name, named, axis)
    except InputError as error:
        raise damaged(path, str(error)) from None
