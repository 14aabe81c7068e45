"""Scenes as data, so that values in them can be replaced, and what names these values have.

Whatever a sweep is made of becomes a description: what a scene file says (`vivace.scenes.load_scene`), or a function
and its parameters. A name is that of a setting of runs (`solver`, `iterations`, ...), or of an entry of the
description: `material.stretch`, or `stretch` alone where nothing else is called so.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..checks import as_path, is_whole
from ..errors import FileError, InputError, UnknownNameError
from ..model.fabrics import FABRICS
from ..model.materials import MATERIALS, default_material
from ..scenes import SCENES, RigidScene, Scene, parameters_of
from ..scenes.files import GENERATORS, HIGHEST, MESH_OPTIONS, from_description, load_scene
from ..scenes.tables import read_description
from ..solvers import make_solver
from ..solvers.base import solver_as_data
from ..solvers.rigid import contact_options, make_contact_solver
from .functions import is_own, packed_function

SETTINGS = ("solver", "budget_ms", "iterations", "tolerance", "frames", "time_step", "substeps", "integrator")
WHOLE = ("iterations", "frames", "substeps")
WORLD = ("gravity", "wind", "stiffness", "air", "viscosity")
OF_FUNCTION, OF_SOLVER = "function", "solver"
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

Place = tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """A scene as data.

    Attributes:
        path: of its file, or its name: files that it names are beside that.
        data: what a scene file has; for a function `function`, packed, and `parameters`.
        defaults: what entries are that the data does not say, as far as that is known, by place.
        files: digests of the files that it names.
        label: for people.
        rigid: whether it is made of rigid bodies alone.
        solver: the one that all runs have, as a scene file says it.
    """

    path: Path
    data: dict[str, Any]
    label: str
    rigid: bool = False
    defaults: dict[Place, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    solver: dict[str, Any] = field(default_factory=dict)

    def with_values(self, values: Mapping[Place, Any]) -> dict[str, Any]:
        """The data with other values at some places."""
        data: dict[str, Any] = _copied(self.data)
        if any(place[0] == OF_SOLVER for place in values):
            data[OF_SOLVER] = dict(self.solver)
        for place, value in values.items():
            table = data
            for name in place[:-1]:
                table = table.setdefault(name, {})
            table[place[-1]] = value
        return data


def _copied(value: Any) -> Any:
    """Tables and lists are new; what is in them stays what it is, as not everything has copies."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def describe(target: Any, parameters: Mapping[str, Any], solver: str | None = None) -> Description:
    """The description of a scene's name, a scene file, a mesh file, or a function that makes a scene."""
    if callable(target) or (isinstance(target, str) and target in SCENES and is_own(SCENES[target])):
        return _of_function(target if callable(target) else SCENES[target], parameters)
    if isinstance(target, str) and target in SCENES:
        made = load_scene(target, **parameters)
        data: dict[str, Any] = {"scene": target, "parameters": dict(parameters)}
        return _described(Path(target), data, target, made, solver)
    path = as_path(target, "a scene")
    if path.suffix.lower() == ".toml":
        if parameters:
            raise InputError("parameters are for named scenes and meshes; write them into the scene file, or vary them")
        path = path.absolute()
        data = read_description(path)
        return _described(path, data, path.name, from_description(path, data), solver)
    made = load_scene(target, **parameters)  # or says what is wrong with it
    path = path.absolute()
    data = {"mesh": {"file": str(path), **parameters}, "pins": {"highest": HIGHEST}}
    return _described(path, data, path.name, made, solver)


def made_from(path: str, data: dict[str, Any], call: Callable[..., Any] | None) -> Scene | RigidScene:
    """The scene of a description; `call`: of a function's."""
    if call is None:
        return from_description(Path(path), data)
    made = call(**data["parameters"])
    if not isinstance(made, Scene | RigidScene):
        raise InputError(f"the function of a sweep returns a Scene or a RigidScene, not {type(made).__name__}")
    return made


def _of_function(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Description:
    known = inspect.signature(function).parameters
    for name in parameters:
        if name not in known:
            raise UnknownNameError("parameter of the function", name, known)
    for name, parameter in known.items():
        if parameter.default is parameter.empty and parameter.kind in NAMED and name not in parameters:
            raise InputError(f"the function of a sweep is first called without what is varied: give {name} a default")
    made = made_from("", {"parameters": dict(parameters)}, function)
    data = {OF_FUNCTION: packed_function(function), "parameters": dict(parameters)}
    label = getattr(function, "__name__", "a function")
    found = Description(Path(label), data, label, isinstance(made, RigidScene))
    for name, parameter in known.items():
        found.defaults["parameters", name] = None if parameter.default is parameter.empty else parameter.default
    return found


def _described(
    path: Path, data: dict[str, Any], label: str, made: Scene | RigidScene, solver: str | None
) -> Description:
    rigid = isinstance(made, RigidScene)
    found = Description(path, data, label, rigid, files=_digests(path, data))
    defaults = found.defaults
    if "scene" in data:
        defaults.update({("parameters", name): value for name, value in parameters_of(data["scene"]).items()})
    if isinstance(made, Scene):
        defaults.update({("world", name): None for name in (WORLD if "mesh" in data else WORLD[:3])})
        if "material" not in data:
            defaults["fabric",] = ""
        defaults["self_contact",] = False
    else:
        defaults["world", "gravity"] = None
    if "mesh" in data:
        assert isinstance(made, Scene)
        defaults.update(_mesh_places(data["mesh"]))
        kind = data.get("material", {}).get("kind") or _kind(default_material(made.model.mesh))
        data.setdefault("material", {}).setdefault("kind", kind)
        of_kind = fields(MATERIALS[kind])
        defaults.update({("material", item.name): data["material"].get(item.name, item.default) for item in of_kind})
    found.solver.update(_solver(made, solver))
    defaults.update({(OF_SOLVER, name): value for name, value in found.solver.items() if name != "name"})
    return found


def _mesh_places(mesh: dict[str, Any]) -> dict[Place, Any]:
    if "file" in mesh:
        return {("mesh", name): None for name in (*MESH_OPTIONS, "scale")}
    known = inspect.signature(GENERATORS[mesh["generator"]]).parameters
    places: dict[Place, Any] = {("mesh", name): mesh.get(name, item.default) for name, item in known.items()}
    return {**places, ("mesh", "scale"): 1.0}


def _kind(material: object) -> str:
    return next(name for name in MATERIALS if MATERIALS[name] is type(material))


def _solver(made: Scene | RigidScene, solver: str | None) -> dict[str, Any]:
    """The solver that all runs have unless that is varied itself, with all its options."""
    if isinstance(made, RigidScene):
        chosen = make_contact_solver(solver or made.solver)
        return {"name": chosen.name, **{key: getattr(chosen, key) for key in contact_options(type(chosen))}}
    name, options = solver_as_data(make_solver(solver or made.solver))
    return {"name": name, **options}


def _digests(path: Path, data: Any) -> dict[str, str]:
    """What the files that a description names contain: a mesh may change between two sweeps."""
    found = {}
    for name in sorted(set(_named(data))):
        try:
            found[name] = hashlib.sha256((path.parent / name).read_bytes()).hexdigest()
        except OSError as error:
            raise FileError(f"cannot read {path.parent / name}: {error.strerror or error}") from error
    return found


def _named(value: Any) -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == "file" and isinstance(item, str):
            yield item
        else:
            yield from _named(item)


# --- names ------------------------------------------------------------------------------------------------------------


def place_of(description: Description, name: str) -> Place:
    """Where a name stands: ("setting", name), or a place in the description; the nearest names if there is none."""
    if name in ("seed", "seeds"):
        raise InputError("seeds are not varied by name: say how many each combination gets by seeds (--seeds 10)")
    if name in SETTINGS:
        if description.rigid and name == "integrator":
            raise InputError(f"{description.label} is made of rigid bodies, which have no integrator to vary")
        return ("setting", name)
    places = _places(description)
    found = [place for place in places if ".".join(place) == name]
    found = found or [place for place in places if place[-1] == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{name!r} is several things here: say {' or '.join('.'.join(place) for place in found)}")
    known = {*SETTINGS, *(".".join(place) for place in places), *(place[-1] for place in places)}
    raise UnknownNameError(f"thing to vary of {description.label}", name, known)


def is_whole_number(description: Description, place: Place) -> bool:
    """Whether what stands there is a whole number: it is one now, or by default."""
    if place[0] == "setting":
        return place[1] in WHOLE
    value: Any = description.data
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return is_whole(description.defaults.get(place) if value is None else value)


def check_words(place: Place, values: list[Any]) -> None:
    """Names of fabrics among the values are known."""
    if place == ("fabric",):
        for value in values:
            FABRICS[value]


def _places(description: Description) -> dict[Place, Any]:
    """All that can be varied in a description: what it has, and what it could have."""
    found = dict(description.defaults)
    if OF_FUNCTION not in description.data:
        for table in ("material", "mesh", "world", "pins", "parameters"):
            entries = description.data.get(table, {})
            found.update({(table, name): value for name, value in entries.items() if not isinstance(value, dict)})
    for place in (("material", "kind"), ("mesh", "generator"), ("mesh", "file")):
        found.pop(place, None)
    return found
