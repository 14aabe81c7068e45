"""Scenes from files: a TOML description, or just a mesh.

scene = "tablecloth"                 # start from a named scene ...
fabric = "denim"                     # of both kinds: silk, cotton, denim, leather, rubber, felt (`vivace.FABRICS`)
self_contact = true                  # of both kinds: whether the body touches itself
[parameters]
resolution = 50

# ... or describe one
[mesh]
file = "bunny.obj"                   # beside this file; or generator = "cloth" and its arguments
tetrahedralise = true                # also unit, up, weld, repair, split, sew, surface: docs/meshes.md
translate = [0, 1, 0]                # m; also rotate (axis times angle, rad) and scale
[material]
kind = "solid"                       # cloth, solid, jelly, wire, neo-hookean, ...; default by the mesh
youngs_modulus = 1e5
[[parts]]                            # instead of these two: several bodies, see scenes/parts.py
[pins]
where = "top"                        # a group's name, indices = [...], or highest = 0.02; see scenes/pins.py for paths
[world]
gravity = [0, -9.81, 0]              # these four in a named scene too
wind = [0, 0, 0]                     # m/s
time_step = 0.0333
stiffness = 1.0                      # times what the material or the scene has
air = 0.1
viscosity = 0.0

[collisions]                         # both kinds of scene; see scenes/collisions.py
itself = false
[[collisions.colliders]]
kind = "plane"
[[bodies]]                           # rigid ones, here or in a file without any mesh; see scenes/bodies.py
shape = "sphere"
centre = [0, 2, 0]
radius = 0.1
[solver]
name = "vivace"
omega = 1.8
[budget]
ms = 8
[tuned]                              # written by `vivace tune`: ρ where a Chebyshev solver's or descent's is "auto"
"chebyshev(jacobi)" = 0.9991
"descent" = "0.9*12;0.99*84"
[edits]                              # written by the live app: pins and cuts; see scenes/edits.py
vertices = 2500
pins = [0, 49]
"""

from __future__ import annotations

import inspect
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import mesh as meshes
from ..checks import as_path, check_flag, check_name, shown
from ..errors import FileError, InputError, UnknownNameError, VivaceError
from ..files import write_text
from ..mesh import Mesh
from ..model.fabrics import fabric, made_of
from ..model.model import EARTH, Model, as_gravity
from ..solvers import Budget, make_solver
from .bodies import only_bodies, with_bodies
from .collisions import with_collisions
from .edits import Edits, with_edits
from .parts import material_of, model_of_parts, thickness_of_parts
from .pins import with_pins
from .rigid_scene import RigidScene, seeded
from .scene import SCENES, Scene, make_scene
from .self_contact import touching_itself
from .shown import load_mesh
from .tables import check_known, read_description, table_of

NAMES = ("cloth", "noodle", "bar", "cube", "torus", "ball", "body", "rabbit", "double_helix")
GENERATORS = {name: getattr(meshes, name) for name in NAMES}
HIGHEST = 0.02
TABLES = {
    "scene",
    "fabric",
    "self_contact",
    "parameters",
    "mesh",
    "material",
    "parts",
    "pins",
    "world",
    "collisions",
    "bodies",
    "solver",
    "budget",
    "tuned",
    "edits",
}
NAMING = ("[mesh]", "[pins]", "[[pins]]", "[[collisions.colliders]]", "[[bodies]]")  # tables that name files
PLACING = ("scale", "rotate", "translate")
LOADING = frozenset(["surface", *list(inspect.signature(meshes.load).parameters)[1:]])
MESH_OPTIONS = LOADING | {"sew"}


def load_scene(target: str | os.PathLike[str], /, **parameters: Any) -> Scene | RigidScene:
    """A scene from its name, a TOML file or a mesh file.

    Args:
        target: the name of a registered scene, or the path of a file.
        **parameters: of a registered scene; of a mesh file the options of `vivace.mesh.load`, and `sew`.
    """
    if isinstance(target, str) and target in SCENES:
        return make_scene(target, **parameters)
    path = as_path(target, "a scene")
    text = os.fspath(target)
    if not text or (not path.suffix and not os.path.exists(path)):
        raise UnknownNameError("scene", text, SCENES)
    of_mesh = path.suffix.lower() != ".toml"
    if set(parameters) - (MESH_OPTIONS if of_mesh else set()):
        also = f" (a mesh file takes {', '.join(sorted(MESH_OPTIONS))})" if of_mesh else ""
        raise InputError(f"parameters can be set for named scenes only; write them into the TOML file{also}")
    if not os.path.isfile(path):
        raise FileError(f"there is no file {path}")
    if not of_mesh:
        return _from_toml(path)
    sew = parameters.pop("sew", False)
    settings = {"mesh": path.name, **({"options": {**parameters, "sew": sew}} if parameters or sew else {})}
    return from_mesh(load_mesh(path, **parameters), sew=sew, settings=settings)


def from_mesh(body: Mesh, *, sew: bool = False, settings: dict[str, Any] | None = None) -> Scene:
    """A mesh held by its highest vertices, made of what its elements suggest; `sew`: see `Model.sew`."""
    if not isinstance(settings, dict | None):
        raise InputError(f"settings must be a dictionary, not {shown(settings)}")
    model = Model.of(body)
    if _is_sewn(body, sew):
        model = model.sew()
    return Scene(body.name, model.pin(highest(body)), 1 / 30, settings={} if settings is None else dict(settings))


def _is_sewn(body: Mesh, sew: bool) -> bool:
    """Whether there are seams to sew, if asked to; a surface that did not have to be split has none."""
    return check_flag("sew", sew) and "seams" in body.groups


def highest(body: Mesh, share: float = HIGHEST) -> np.ndarray:
    """The vertices in the top `share` of a mesh's height; of a mesh that lies flat, those at its right end."""
    extent = np.ptp(body.vertices, axis=0)
    along = body.vertices[:, 1 if extent[1] > 1e-6 * extent.max() else 0]
    return np.flatnonzero(along >= along.max() - share * np.ptp(along)).astype(np.int32)


def _from_toml(path: Path) -> Scene | RigidScene:
    return from_description(path, read_description(path))


def from_description(path: Path, data: dict[str, Any]) -> Scene | RigidScene:
    """The scene that a scene file at `path` would describe by saying `data`."""
    check_known(path, "the file", data, TABLES)
    if "bodies" in data and not {"scene", "mesh", "parts"} & set(data):
        alone = RigidScene(path.stem, only_bodies(path, data["bodies"]), settings={"description": data})
        return _rigid(path, alone, data)
    if ("scene" in data) == bool({"mesh", "parts"} & set(data)):
        raise InputError(
            f'{path} must have either a scene = "name" line or a [mesh] table or [[parts]], or [[bodies]] alone'
        )
    if "scene" in data:
        for table in ("material", "pins"):
            if table in data:
                raise InputError(f"{path}: [{table}] belongs to a [mesh] scene; a named scene has [parameters]")
        name = check_name("scene", data["scene"], SCENES)
        made = make_scene(name, **table_of(path, data, "parameters"))
        if isinstance(made, RigidScene):
            if "bodies" in data:
                made = replace(made, bodies=[*made.bodies, *only_bodies(path, data["bodies"])])
                made.settings["bodies"] = data["bodies"]
            return _rigid(path, made, data)
        scene = _in_world(path, made, table_of(path, data, "world"))
    else:
        try:
            scene = _described(path, data)
        except VivaceError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error
    changes: dict[str, Any] = {}
    if "solver" in data:
        options = dict(table_of(path, data, "solver"))
        changes["solver"] = (str(options.pop("name", "auto")), options)
        make_solver(changes["solver"])  # complain now, not at the first step
    if "budget" in data:
        changes["budget"] = _budget(path, data)
    if "tuned" in data:
        changes["tuned"] = table_of(path, data, "tuned")
        for name, rho in changes["tuned"].items():
            make_solver(f"{name}:rho={rho}")  # is there such a solver, and is it a ρ?
    if "collisions" in data:  # last, because distances to a mesh take a while
        settings = table_of(path, data, "collisions")
        changes["model"] = with_collisions(path, scene.model, settings, thickness_of_parts(data))
        if "scene" in data:
            scene.settings["collisions"] = data["collisions"]
    elif thickness_of_parts(data):
        raise InputError(f"{path}: parts have a thickness, which is of contacts, and there is no [collisions] table")
    if "bodies" in data:
        changes["model"] = with_bodies(path, changes.get("model", scene.model), data["bodies"])
        if "scene" in data:
            scene.settings["bodies"] = data["bodies"]
    if "fabric" in data or "self_contact" in data:
        changes["model"] = _tailored(path, changes.get("model", scene.model), data)
        scene.settings.update({key: data[key] for key in ("fabric", "self_contact") if key in data})
    scene.settings["file"] = path.name
    scene = replace(scene, **changes)
    if "edits" in data:
        if "scene" in data:
            scene.settings["edits"] = data["edits"]
        try:
            scene = with_edits(scene, Edits.of(data["edits"]))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    return scene


def _tailored(path: Path, model: Model, data: dict[str, Any]) -> Model:
    """The model with its cloth made of a fabric by name, and with or without contacts with itself."""
    if "fabric" in data and "material" in data:
        raise InputError(f"{path}: a fabric is a material; have either fabric = or [material]")
    try:
        if "fabric" in data:
            model = made_of(model, fabric(data["fabric"])).stiffened(data.get("world", {}).get("stiffness", 1.0))
        return touching_itself(model, data["self_contact"]) if "self_contact" in data else model
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _budget(path: Path, data: dict[str, Any]) -> Budget:
    budget = table_of(path, data, "budget")
    check_known(path, "[budget]", budget, {item.name for item in fields(Budget)})
    return Budget(**budget)


def _rigid(path: Path, scene: RigidScene, data: dict[str, Any]) -> RigidScene:
    """A scene of rigid bodies in the circumstances of a file."""
    known = {"bodies", "world", "solver", "budget"} | ({"scene", "parameters"} if "scene" in data else set())
    check_known(path, "a scene of rigid bodies", data, known)
    world = table_of(path, data, "world")
    check_known(path, "[world] of rigid bodies", world, {"gravity", "time_step", "substeps"})
    changes: dict[str, Any] = dict(world)
    if "solver" in data:
        options = dict(table_of(path, data, "solver"))
        text = ",".join(f"{key}={value}" for key, value in options.items() if key != "name")
        changes["solver"] = f"{options.get('name', scene.solver)}:{text}" if text else str(options["name"])
        seeded(changes["solver"], 0)  # complain now, not at the first step
    if "budget" in data:
        changes["budget"] = _budget(path, data)
    scene.settings.update({"file": path.name, **({"world": world} if world else {})})
    return replace(scene, **changes)


def _in_world(path: Path, scene: Scene, world: dict[str, Any]) -> Scene:
    """A named scene in other circumstances."""
    steps = ("wind", "time_step", "substeps", "integrator")
    check_known(path, "[world] of a named scene", world, {"gravity", "stiffness", *steps})
    changes = {key: world[key] for key in steps if key in world}
    model = scene.model.stiffened(world["stiffness"]) if "stiffness" in world else scene.model
    changes["model"] = replace(model, gravity=as_gravity(world["gravity"])) if "gravity" in world else model
    if world:
        scene.settings["world"] = world
    return replace(scene, **changes)


def _described(path: Path, data: dict[str, Any]) -> Scene:
    world = table_of(path, data, "world")
    known = {"gravity", "air", "viscosity", "time_step", "substeps", "integrator", "wind", "stiffness"}
    check_known(path, "[world]", world, known)
    same = {"gravity": world.get("gravity", EARTH), "air": world.get("air", 0.0)}
    model, sew = _bodies(path, data, {**same, "viscosity": world.get("viscosity", 0.0)})
    body = model.mesh
    if _is_sewn(body, sew):
        model = model.sew()
    model = with_pins(path, model, data.get("pins", []), highest)
    if "stiffness" in world:
        model = model.stiffened(world["stiffness"])
    motion = {key: world[key] for key in ("wind", "substeps", "integrator") if key in world}
    settings = {"description": data}
    return Scene(path.stem, model, world.get("time_step", 1 / 30), settings=settings, **motion)


def _bodies(path: Path, data: dict[str, Any], same: dict[str, Any]) -> tuple[Model, bool]:
    """The body of [mesh] and [material], and whether it is to be sewn; or those of [[parts]]."""
    if "parts" in data:
        return model_of_parts(path, data, same, _mesh), False
    shape = dict(table_of(path, data, "mesh"))
    sew = shape.pop("sew", False) if "file" in shape else False
    body = _mesh(path, shape)
    return Model.of(body, material_of(path, table_of(path, data, "material"), body), **same), sew


def _mesh(path: Path, options: dict[str, Any]) -> Mesh:
    options = dict(options)
    file, generator = options.pop("file", None), options.pop("generator", None)
    if (file is None) == (generator is None):
        raise InputError(f"{path}: [mesh] needs either a file or a generator")
    placing = {key: options.pop(key) for key in PLACING if key in options}
    if file is not None:
        check_known(path, "[mesh]", {**options, **placing}, {*LOADING, "sew", *PLACING})
        body = load_mesh(path.parent / as_path(file, "file"), folder=path.parent, **options)
    else:
        check_name("mesh generator", generator, GENERATORS)
        try:
            body = GENERATORS[generator](**options)
        except TypeError as error:
            raise InputError(f"{path}: [mesh] {error}") from error
    return body.transformed(**placing) if placing else body


def write_tuned(
    path: str | os.PathLike[str], target: str, parameters: dict[str, object], tuned: Mapping[str, float | str]
) -> None:
    """A scene file for `target` (a name, a scene file or a mesh file) that remembers what was tuned."""
    path, source = as_path(path), as_path(target, "a scene")
    for what, table in (("parameters", parameters), ("tuned", tuned)):
        if not isinstance(table, dict):
            raise InputError(f"{what} must be a dictionary of names and values, not {shown(table)}")
    if target in SCENES:
        lines = [f"scene = {json.dumps(target)}"]
        if parameters:
            lines += ["", "[parameters]", *(f"{key} = {json.dumps(value)}" for key, value in parameters.items())]
    elif source.suffix.lower() == ".toml":
        lines = source.read_text(encoding="utf-8").rstrip().splitlines()
        data = tomllib.loads("\n".join(lines))
        tuned = {**data.get("tuned", {}), **tuned}
        lines = _without_table(lines, "tuned")
        lines = _with_files(lines, lambda file: _seen_from(path, source.parent / file))
    else:
        options = [f"{key} = {json.dumps(value)}" for key, value in parameters.items()]
        file = f"file = {json.dumps(_seen_from(path, source))}"
        lines = ["[mesh]", file, *options, "", "[pins]", f"highest = {HIGHEST}"]
    lines += ["", "[tuned]", *(f"{json.dumps(name)} = {json.dumps(rho)}" for name, rho in tuned.items()), ""]
    write_text(path, "\n".join(lines))


def _seen_from(path: str | os.PathLike[str], file: Path) -> str:
    """`file` as a scene file at `path` has to call it."""
    return os.path.relpath(file.resolve(), Path(path).resolve().parent)


def _with_files(lines: list[str], rename: Callable[[str], str]) -> list[str]:
    """A TOML file's lines with other names for the mesh files in it, where those differ."""
    changed, table = list(lines), ""
    for k, line in enumerate(lines):
        if line.lstrip().startswith("["):
            table = line.partition("#")[0].strip()
        key = line.partition("=")[0].strip()
        if table in NAMING and key in ("file", "surface"):
            with suppress(tomllib.TOMLDecodeError):
                old = str(tomllib.loads(line)[key])
                if rename(old) != os.path.normpath(old):
                    changed[k] = f"{key} = {json.dumps(rename(old))}"
    for old, new in zip(_files(lines), _files(changed), strict=True):
        if os.path.normpath(new) != rename(old):
            raise InputError(f"cannot tell where the file names its mesh {old!r}; let --out be in the same folder")
    return changed


def _files(lines: list[str]) -> list[str]:
    """The mesh files that a TOML file names."""
    data = tomllib.loads("\n".join(lines))
    pins = data.get("pins", [])
    tables = [data.get("mesh", {}), *(pins if isinstance(pins, list) else [pins])]
    tables += [*data.get("collisions", {}).get("colliders", []), *data.get("bodies", [])]
    return [str(table[key]) for table in tables for key in ("file", "surface") if key in table]


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
