"""The [collisions] table of a scene file: what stands in the scene, and how bodies touch it and each other.

[collisions]                         # the fields of `vivace.collisions.Collisions`
thickness = 0.004                    # m, or "felt"; or of groups, { shirt = 0.002, coat = "felt", else = 0.004 }
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
[[collisions.colliders]]
kind = "capsule"                     # plane, sphere, box and capsule may move
start = [-1, 0.5, 0]
end = [1, 0.5, 0]
radius = 0.1
path = { times = [0, 1], shifts = [[0, 0, 0], [0, 0, 0.5]] }     # m; also rotations (rad) and repeat
[[collisions.colliders]]
kind = "animation"
file = "walk.abc"                    # vertices over time: a cache beside this file
options = { unit = "cm" }            # those of `vivace.caches.read`; also start (s), repeat and friction
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from .. import mesh as meshes
from ..checks import as_path, check_name
from ..collisions import AnimatedMesh, Box, Capsule, Collider, Collisions, Plane, Sampled, Sphere, armchair, table, tube
from ..errors import InputError
from ..model.fabrics import fabric
from ..model.model import Model
from ..model.touching import ELSE
from ..rigid.bodies import Body
from .pins import animation_from, keyframes_from
from .tables import check_known

THICKNESS = 0.004  # m: where the file says none, as in `Model.collide`
KEYS = tuple(item.name for item in fields(Collisions) if item.name not in ("bodies", "animated", "thicknesses"))
MOVABLE = ("plane", "sphere", "box", "capsule")  # kinds that may have a path


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


def _animation(
    folder: Path, file: str, options: Any = None, start: float = 0.0, repeat: bool = False, friction: Any = None
) -> AnimatedMesh:
    where = folder / "the scene file"
    found = animation_from(where, "a collider", file, {} if options is None else options)
    return AnimatedMesh(found, friction=friction, start=start, repeat=repeat)


KINDS: dict[str, Callable[..., Collider | AnimatedMesh | Iterable[Collider]]] = {
    "plane": Plane,
    "sphere": Sphere,
    "box": Box,
    "capsule": Capsule,
    "mesh": _sampled,
    "animation": _animation,
    "armchair": armchair,
    "table": table,
    "tube": tube,
}


def _thickness(given: Any) -> Any:
    """As a file says it: a number, or the name of a fabric; or of groups."""
    if isinstance(given, dict):
        return {name: _thickness(one) for name, one in given.items()}
    return fabric(given).thickness if isinstance(given, str) else given


def _with_own(model: Model, own: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """That of groups, where parts have one of their own; `given`, that of [collisions], is by names or of others."""
    if isinstance(given, dict):
        others = given
    elif ELSE in model.mesh.groups:
        raise InputError(
            f'thickness: a part is named "{ELSE}", which means all parts that have none of their own; '
            "give the part another name"
        )
    else:
        others = {ELSE: given}
    return {**_thickness(dict(own)), **others}


def with_collisions(path: Path, model: Model, settings: dict[str, Any], own: Mapping[str, Any] | None = None) -> Model:
    """The model with what a file's [collisions] table describes; whatever it touched before is forgotten.

    `own`: the thickness of parts by name, as they say themselves.
    """
    check_known(path, "[collisions]", settings, KEYS)
    rows = settings.get("colliders", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: colliders must be tables, each written [[collisions.colliders]]")
    made = [collider for number, row in enumerate(rows, 1) for collider in _colliders(path, number, row)]
    options = {key: value for key, value in settings.items() if key != "colliders"}
    try:
        if "thickness" in options:
            options["thickness"] = _thickness(options["thickness"])
        if own:
            options["thickness"] = _with_own(model, own, options.get("thickness", THICKNESS))
        return model.collide(made, **options)
    except InputError as error:
        raise InputError(f"{path}: [collisions] {error}") from error


def _colliders(path: Path, number: int, row: dict[str, Any]) -> list[Collider | Body | AnimatedMesh]:
    options = dict(row)
    led = options.pop("path", None) if options.get("kind") in MOVABLE else None
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
    if kind in ("mesh", "animation"):
        options["folder"] = path.parent
    moving = None if led is None else keyframes_from(path, where, led)
    try:
        made = KINDS[kind](**options)
        if moving is not None and isinstance(made, Collider):
            return [Body(made, path=moving)]
    except InputError as error:
        raise InputError(f"{path}: {where} cannot be made: {error}") from error
    return [made] if isinstance(made, Collider | AnimatedMesh) else list(made)
