"""The [[bodies]] tables of a scene file: rigid bodies, among the soft ones of the scene or by themselves.

[[bodies]]
shape = "box"                        # plane, sphere, box, capsule or hull, and its parameters: `vivace.collisions`
centre = [0, 1, 0]
half = [0.2, 0.02, 0.02]             # m
name = "rod"                         # from here on the fields of `vivace.Body`
mass = 0.5                           # kg; or density
velocity = [0, 0, 0]                 # m/s; also spin, in rad/s
friction = 0.5                       # or a set: { set = "ellipse", mu_s = 0.6, mu_t = 0.2 }
attach = "bottom"                    # vertices that follow it: a group, numbers, or { where = ..., stiffness = ... }
[[bodies]]
shape = "hull"
file = "stone.obj"                   # beside this file; its convex hull
path = { times = [0, 1, 2], shifts = [[0, 0, 0], [0.5, 0, 0], [0, 0, 0]], repeat = true }
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .. import mesh as meshes
from ..checks import as_path, check_name
from ..collisions import Box, Capsule, Collider, ConvexMesh, Plane, Sphere
from ..errors import InputError
from ..model.model import Model
from ..rigid.bodies import Body
from ..rigid.paths import Keyframes
from ..rigid.proximal import FRICTION_SETS, FrictionSet, Polygon
from .tables import check_known

SETS: dict[str, type[FrictionSet]] = {**FRICTION_SETS, "polygon": Polygon}
OWN = tuple(item.name for item in fields(Body) if item.name != "shape")


def _hull(
    folder: Path,
    file: str,
    scale: Any = 1.0,
    rotate: Any = None,
    translate: Any = (0.0, 0.0, 0.0),
    repair: bool = False,
    split: bool = False,
) -> Collider:
    surface = meshes.load(folder / as_path(file, "file"), repair=repair, split=split)
    return ConvexMesh(surface.transformed(scale=scale, rotate=rotate, translate=translate))


SHAPES: dict[str, Callable[..., Collider]] = {
    "plane": Plane,
    "sphere": Sphere,
    "box": Box,
    "capsule": Capsule,
    "hull": _hull,
}


def read_bodies(path: Path, rows: Any) -> list[tuple[Body, Any]]:
    """The bodies of a file, and what each says of vertices that are attached to it; None: nothing."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: bodies must be tables, each written [[bodies]]")
    return [(_body(path, number, row), row.get("attach")) for number, row in enumerate(rows, 1)]


def only_bodies(path: Path, rows: Any) -> list[Body]:
    """The bodies of a scene without soft ones."""
    found = read_bodies(path, rows)
    for number, (_, attach) in enumerate(found, 1):
        if attach is not None:
            raise InputError(f"{path}: body {number} has nothing to attach; the scene has rigid bodies only")
    return [body for body, _ in found]


def with_bodies(path: Path, model: Model, rows: Any) -> Model:
    """The model with the bodies of a file beside what it touches already, and what is attached to them."""
    found = read_bodies(path, rows)
    settings = (model if model.collisions is not None else model.collide()).collisions
    assert settings is not None
    first = len(settings.bodies)
    model = replace(model, collisions=replace(settings, bodies=(*settings.bodies, *(body for body, _ in found))))
    for number, (_, attach) in enumerate(found):
        if attach is None:
            continue
        where = f"attach of body {number + 1}"
        options = attach if isinstance(attach, dict) else {"where": attach}
        check_known(path, where, options, ("where", "stiffness"))
        if not isinstance(options.get("where"), str | list):
            raise InputError(f"{path}: {where} must be a group's name or a list of vertices, as where = ... of a table")
        try:
            model = model.attach(options["where"], to=first + number, stiffness=options.get("stiffness"))
        except InputError as error:
            raise InputError(f"{path}: {where}: {error}") from error
    return model


def _body(path: Path, number: int, row: dict[str, Any]) -> Body:
    options = {key: value for key, value in row.items() if key != "attach"}
    shape = options.pop("shape", None)
    if shape is None:
        raise InputError(f"{path}: body {number} needs a shape: {', '.join(SHAPES)}")
    check_name("shape of a body", shape, SHAPES)
    where = f"body {number}, a {shape},"
    signature = inspect.signature(SHAPES[shape]).parameters
    parameters = {name: known for name, known in signature.items() if name not in ("folder", "friction")}
    check_known(path, where, options, {*parameters, *OWN, "attach"})
    missing = [name for name, known in parameters.items() if known.default is known.empty and name not in options]
    if missing:
        raise InputError(f"{path}: {where} needs {' and '.join(missing)}")
    made = {name: options.pop(name) for name in parameters if name in options}
    if shape == "hull":
        made["folder"] = path.parent
    try:
        if isinstance(options.get("path"), dict):
            check_known(path, f"path of {where}", options["path"], {item.name for item in fields(Keyframes)})
            if "times" not in options["path"]:
                raise InputError("its path needs times")
            options["path"] = Keyframes(**options["path"])
        elif "path" in options:
            raise InputError("its path must be a table with times and shifts, rotations or both")
        if isinstance(options.get("friction"), dict):
            options["friction"] = _friction(path, where, options["friction"])
        return Body(SHAPES[shape](**made), **options)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {where} cannot be made: {text}") from error


def _friction(path: Path, where: str, table: dict[str, Any]) -> Any:
    options = dict(table)
    kind = SETS[check_name("friction set", options.pop("set", None), SETS)]
    parameters = inspect.signature(kind).parameters
    check_known(path, f"friction of {where}", options, parameters)
    missing = [name for name, known in parameters.items() if known.default is known.empty and name not in options]
    if missing:
        raise InputError(f"its friction needs {' and '.join(missing)}")
    return kind(**options)
