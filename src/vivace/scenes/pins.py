"""The [pins] table of a scene file: what is held, and how it moves. Several are written [[pins]].

[pins]
where = "top"                        # a group's name, indices = [...], or highest = 0.02 (share of the height)
stiffness = 3e5                      # N/m
path = { times = [0, 1], shifts = [[0, 0, 0], [0.5, 0, 0]], repeat = true }        # m; also rotations, rad
[[pins]]
where = "waist"
file = "waist.npz"                   # where they are over time: a cache beside this file, of them or of the whole mesh
options = { unit = "cm" }            # those of `vivace.caches.read`
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ..caches.animation import Animation
from ..caches.reading import read
from ..checks import as_path, is_number, shown
from ..errors import InputError
from ..mesh import Mesh
from ..model.model import Model
from ..rigid.paths import Keyframes
from .tables import check_known

KEYS = {"where", "indices", "highest", "stiffness", "path", "file", "options"}
READING = [name for name in inspect.signature(read).parameters if name not in ("path", "mesh")]


def with_pins(path: Path, model: Model, data: Any, highest: Callable[[Mesh, float], np.ndarray]) -> Model:
    """The model with what a file's pins hold; `highest`: finds the vertices in the top share of a mesh."""
    tables = data if isinstance(data, list) else [data]
    if not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path}: pins must be a table, written [pins], or several, each written [[pins]]")
    for pins in tables:
        check_known(path, "[pins]", pins, KEYS)
        options: dict[str, Any] = {"stiffness": pins.get("stiffness"), "path": _path(path, pins)}
        if "where" in pins:
            if not isinstance(pins["where"], str):
                raise InputError(f"{path}: where must be the name of a group, not {shown(pins['where'])}")
            model = model.pin(pins["where"], **options)
        if "indices" in pins:
            model = model.pin(pins["indices"], **options)
        if "highest" in pins:
            if not is_number(pins["highest"]) or not 0 <= pins["highest"] <= 1:
                raise InputError(f"{path}: highest must be a share of the height, 0 to 1, not {shown(pins['highest'])}")
            model = model.pin(highest(model.mesh, pins["highest"]), **options)
    return model


def _path(path: Path, pins: dict[str, Any]) -> Keyframes | Animation | None:
    """How the pins of a table move; None: they stay."""
    if "path" in pins and "file" in pins:
        raise InputError(f"{path}: pins follow either a path or a file")
    if "options" in pins and "file" not in pins:
        raise InputError(f"{path}: options of [pins] are for a file")
    if "file" in pins:
        return animation_from(path, "[pins]", pins["file"], pins.get("options", {}))
    return keyframes_from(path, "[pins]", pins["path"]) if "path" in pins else None


def animation_from(path: Path, where: str, file: Any, options: Any) -> Animation:
    """Vertices over time from a cache beside a scene file."""
    if not isinstance(options, dict):
        raise InputError(f"{path}: options of {where} must be a table, not {shown(options)}")
    check_known(path, f"options of {where}", options, READING)
    return read(path.parent / as_path(file, "file"), **options)


def keyframes_from(path: Path, where: str, table: Any) -> Keyframes:
    """A path from its table."""
    if not isinstance(table, dict) or "times" not in table:
        raise InputError(f"{path}: path of {where} must be a table with times and shifts, rotations or both")
    check_known(path, f"path of {where}", table, {item.name for item in fields(Keyframes)})
    try:
        return Keyframes(**table)
    except InputError as error:
        raise InputError(f"{path}: path of {where}: {error}") from error
