"""Scenes from files: a TOML description, or just a mesh.

scene = "tablecloth"                 # start from a named scene ...
[parameters]
resolution = 50

# ... or describe one
[mesh]
file = "bunny.obj"                   # beside this file; or generator = "cloth" and its arguments
tetrahedralise = true
[material]
kind = "solid"                       # cloth, solid, wire; default by the mesh
youngs_modulus = 1e5
[pins]
where = "top"                        # a group's name, indices = [...], or highest = 0.02 (share of the height)
[world]
gravity = [0, -9.81, 0]
air = 0.1
viscosity = 0.0
time_step = 0.0333

[solver]                             # both kinds of scene
name = "vivace"
omega = 1.8
[budget]
ms = 8
[tuned]                              # written by `vivace tune`: ρ where a Chebyshev solver's is "auto"
"chebyshev(jacobi)" = 0.9991
"""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import mesh as meshes
from ..checks import is_number
from ..errors import FileError, InputError, UnknownNameError, VivaceError
from ..files import write_text
from ..materials import MATERIALS, default_material
from ..mesh import Mesh
from ..model import EARTH, Model
from ..solvers import Budget, make_solver
from .scene import SCENES, Scene, make_scene

GENERATORS = {name: getattr(meshes, name) for name in ("cloth", "noodle", "bar", "cube", "torus", "ball", "body")}
HIGHEST = 0.02
TABLES = {"scene", "parameters", "mesh", "material", "pins", "world", "solver", "budget", "tuned"}


def load_scene(target: str | os.PathLike, /, **parameters) -> Scene:
    """A scene from its name, a TOML file or a mesh file."""
    text = os.fspath(target)
    if text in SCENES:
        return make_scene(text, **parameters)
    path = Path(text)
    if not text or (not path.suffix and not os.path.exists(path)):
        raise UnknownNameError("scene", text, SCENES)
    if parameters:
        raise InputError("parameters can be set for named scenes only; write them into the TOML file")
    if not os.path.isfile(path):
        raise FileError(f"there is no file {path}")
    return (
        _from_toml(path)
        if path.suffix.lower() == ".toml"
        else from_mesh(meshes.load(path), settings={"mesh": path.name})
    )


def from_mesh(body: Mesh, *, settings: dict | None = None) -> Scene:
    """A mesh held by its highest vertices, made of what its elements suggest."""
    model = Model.of(body).pin(highest(body))
    return Scene(body.name, model, 1 / 30, settings=settings or {})


def highest(body: Mesh, share: float = HIGHEST) -> np.ndarray:
    """The vertices in the top `share` of a mesh's height; of a mesh that lies flat, those at its right end."""
    extent = np.ptp(body.vertices, axis=0)
    along = body.vertices[:, 1 if extent[1] > 1e-6 * extent.max() else 0]
    return np.flatnonzero(along >= along.max() - share * np.ptp(along)).astype(np.int32)


def _from_toml(path: Path) -> Scene:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid TOML file: {error}") from error
    _known(path, "the file", data, TABLES)
    if ("scene" in data) == ("mesh" in data):
        raise InputError(f'{path} must have either a scene = "name" line or a [mesh] table')
    if "scene" in data:
        for table in ("material", "pins", "world"):
            if table in data:
                raise InputError(f"{path}: [{table}] belongs to a [mesh] scene; a named scene has [parameters]")
        scene = make_scene(str(data["scene"]), **_table(path, data, "parameters"))
    else:
        try:
            scene = _described(path, data)
        except VivaceError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error
    changes: dict[str, Any] = {}
    if "solver" in data:
        options = dict(_table(path, data, "solver"))
        changes["solver"] = (str(options.pop("name", "auto")), options)
        make_solver(changes["solver"])  # complain now, not at the first step
    if "budget" in data:
        budget = _table(path, data, "budget")
        _known(path, "[budget]", budget, {"ms", "iterations", "tolerance"})
        changes["budget"] = Budget(**budget)
    if "tuned" in data:
        changes["tuned"] = _table(path, data, "tuned")
        for name, rho in changes["tuned"].items():
            make_solver(f"{name}:rho={rho!r}")  # is there such a solver, and is it a ρ?
    scene.settings["file"] = path.name
    return replace(scene, **changes)


def _described(path: Path, data: dict) -> Scene:
    body = _mesh(path, _table(path, data, "mesh"))
    world = _table(path, data, "world")
    _known(path, "[world]", world, {"gravity", "air", "viscosity", "time_step"})
    material = _table(path, data, "material")
    options = dict(material)
    kind = options.pop("kind", None)
    if kind is None and options:
        raise InputError(f"{path}: [material] needs a kind: {', '.join(MATERIALS)}")
    if kind is None:
        stuff = default_material(body)
    else:
        cls = MATERIALS[str(kind)]
        _known(path, "[material]", options, {item.name for item in fields(cls)})
        stuff = cls(**options)
    model = Model.of(
        body,
        stuff,
        gravity=world.get("gravity", EARTH),
        air=world.get("air", 0.0),
        viscosity=world.get("viscosity", 0.0),
    )
    pins = _table(path, data, "pins")
    _known(path, "[pins]", pins, {"where", "indices", "highest", "stiffness"})
    stiffness = pins.get("stiffness")
    if "where" in pins:
        model = model.pin(str(pins["where"]), stiffness=stiffness)
    if "indices" in pins:
        model = model.pin(np.asarray(pins["indices"]), stiffness=stiffness)
    if "highest" in pins:
        if not is_number(pins["highest"]) or not 0 <= pins["highest"] <= 1:
            raise InputError(f"{path}: highest must be a share of the height, 0 to 1, not {pins['highest']!r}")
        model = model.pin(highest(body, pins["highest"]), stiffness=stiffness)
    return Scene(path.stem, model, world.get("time_step", 1 / 30), settings={"description": data})


def _mesh(path: Path, options: dict) -> Mesh:
    options = dict(options)
    file, generator = options.pop("file", None), options.pop("generator", None)
    if (file is None) == (generator is None):
        raise InputError(f"{path}: [mesh] needs either a file or a generator")
    if file is not None:
        _known(path, "[mesh]", options, {"repair", "tetrahedralise", "scale"})
        scale = options.pop("scale", 1.0)
        body = meshes.load(path.parent / str(file), **options)
        return body if scale == 1.0 else body.transformed(scale=scale)
    if not isinstance(generator, str) or generator not in GENERATORS:
        raise UnknownNameError("mesh generator", str(generator), GENERATORS)
    try:
        return GENERATORS[generator](**options)
    except TypeError as error:
        raise InputError(f"{path}: [mesh] {error}") from error


def _table(path: Path, data: dict, name: str) -> dict:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {name} must be a table, written [{name}]")
    return table


def _known(path: Path, where: str, found: dict, known: set[str]) -> None:
    for key in found:
        if key not in known:
            raise InputError(f"{path}: {where} has an unknown entry {key!r}; known: {', '.join(sorted(known))}")


def write_tuned(path: str | os.PathLike, target: str, parameters: dict[str, object], tuned: dict[str, float]) -> None:
    """A scene file for `target` (a name, a scene file or a mesh file) that remembers what was tuned."""
    source = Path(target)
    if target in SCENES:
        lines = [f"scene = {json.dumps(target)}"]
        if parameters:
            lines += ["", "[parameters]", *(f"{key} = {json.dumps(value)}" for key, value in parameters.items())]
    elif source.suffix.lower() == ".toml":
        lines = source.read_text(encoding="utf-8").rstrip().splitlines()
        data = tomllib.loads("\n".join(lines))
        tuned = {**data.get("tuned", {}), **tuned}
        lines = _without_table(lines, "tuned")
        file = data.get("mesh", {}).get("file")
        if file is not None:
            lines = _with_mesh(lines, str(file), _seen_from(path, source.parent / str(file)))
    else:
        lines = ["[mesh]", f"file = {json.dumps(_seen_from(path, source))}", "", "[pins]", f"highest = {HIGHEST}"]
    lines += ["", "[tuned]", *(f"{json.dumps(name)} = {rho!r}" for name, rho in tuned.items()), ""]
    write_text(Path(path), "\n".join(lines))


def _seen_from(path: str | os.PathLike, file: Path) -> str:
    """`file` as a scene file at `path` has to call it."""
    return os.path.relpath(file.resolve(), Path(path).resolve().parent)


def _with_mesh(lines: list[str], old: str, new: str) -> list[str]:
    """A TOML file's lines with another file for its mesh, where that is another."""
    if os.path.normpath(old) == new:
        return lines
    changed, table = list(lines), ""
    for k, line in enumerate(lines):
        if line.lstrip().startswith("["):
            table = line.partition("#")[0].strip()
        if table == "[mesh]" and line.partition("=")[0].strip() == "file":
            changed[k] = f"file = {json.dumps(new)}"
    if tomllib.loads("\n".join(changed)).get("mesh", {}).get("file") != new:
        raise InputError(f"cannot tell where the file names its mesh {old!r}; let --out be in the same folder")
    return changed


def _without_table(lines: list[str], name: str) -> list[str]:
    """A TOML file's lines without one of its tables."""
    kept, inside = [], False
    for line in lines:
        if line.lstrip().startswith("["):
            inside = line.strip().partition("#")[0].strip() == f"[{name}]"
        if not inside:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept
