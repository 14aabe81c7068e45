"""The [collisions] table of a scene file: what stands in the scene, and how bodies touch it and each other.

[collisions]                         # the fields of `vivace.collisions.Collisions`
thickness = 0.004                    # m
friction = [0.5, 0.3]                # static and kinetic, or one number for both
itself = true                        # cloth against cloth, body against body
sleep = 0.05                         # what moves by less than this share of the thickness rests
between = [["shirt", "belt", 0.6], ["shirt", 0, 0.2]]  # friction of two groups, or of a group and collider 0
[[collisions.colliders]]
kind = "sphere"                      # and its parameters, those of `vivace.collisions`
centre = [0, 0.5, 0]
radius = 0.2
[[collisions.colliders]]
kind = "mesh"
file = "statue.obj"                  # beside this file; also repair and split
spacing = 0.01                       # m
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from .. import mesh as meshes
from ..checks import as_path, check_name
from ..collisions import Box, Capsule, Collider, Collisions, Plane, Sampled, Sphere, armchair, table, tube
from ..errors import InputError
from ..model.model import Model
from .tables import check_known

KEYS = tuple(item.name for item in fields(Collisions) if item.name != "bodies")


def _sampled(
    folder: Path,
    file: str,
    spacing: float | None = None,
    friction: Any = None,
    scale: Any = 1.0,
    rotate: Any = None,
    translate: Any = (0.0, 0.0, 0.0),
    repair: bool = False,
    split: bool = False,
) -> Collider:
    path = folder / as_path(file, "file")
    surface = meshes.load(path, repair=repair, split=split)
    surface = surface.transformed(scale=scale, rotate=rotate, translate=translate)
    return Sampled.of(surface, spacing, friction=friction)


KINDS: dict[str, Callable[..., Collider | Iterable[Collider]]] = {
    "plane": Plane,
    "sphere": Sphere,
    "box": Box,
    "capsule": Capsule,
    "mesh": _sampled,
    "armchair": armchair,
    "table": table,
    "tube": tube,
}


def with_collisions(path: Path, model: Model, settings: dict[str, Any]) -> Model:
    """The model with what a file's [collisions] table describes; whatever it touched before is forgotten."""
    check_known(path, "[collisions]", settings, KEYS)
    rows = settings.get("colliders", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: colliders must be tables, each written [[collisions.colliders]]")
    made = [collider for number, row in enumerate(rows, 1) for collider in _colliders(path, number, row)]
    options = {key: value for key, value in settings.items() if key != "colliders"}
    try:
        return model.collide(made, **options)
    except InputError as error:
        raise InputError(f"{path}: [collisions] {error}") from error


def _colliders(path: Path, number: int, row: dict[str, Any]) -> list[Collider]:
    options = dict(row)
    kind = options.pop("kind", None)
    if kind is None:
        raise InputError(f"{path}: collider {number} needs a kind: {', '.join(KINDS)}")
    check_name("kind of collider", kind, KINDS)
    where = f"collider {number}, {'an' if kind[0] in 'aeiou' else 'a'} {kind},"
    parameters = {name: known for name, known in inspect.signature(KINDS[kind]).parameters.items() if name != "folder"}
    check_known(path, where, options, parameters)
    missing = [name for name, known in parameters.items() if known.default is known.empty and name not in options]
    if missing:
        raise InputError(f"{path}: {where} needs {' and '.join(missing)}")
    if kind == "mesh":
        options["folder"] = path.parent
    try:
        made = KINDS[kind](**options)
    except InputError as error:
        raise InputError(f"{path}: {where} cannot be made: {error}") from error
    return [made] if isinstance(made, Collider) else list(made)
