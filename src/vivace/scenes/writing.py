"""Scenes to files: a scene as it runs now, in the TOML that `load_scene` reads."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import tomli_w
from numpy.typing import ArrayLike

from .._version import __version__
from ..checks import as_numbers, check_flag, check_name, check_time_step, is_number, shown
from ..errors import InputError
from ..model.fabrics import FABRICS
from ..solvers import Budget, make_solver
from ..solvers.rigid import CONTACT_SOLVERS
from .edits import Edits
from .files import HIGHEST
from .rigid_scene import RigidScene
from .scene import Scene, parameters_of


def scene_text(
    scene: Scene | RigidScene,
    *,
    solver: str | tuple[str, dict[str, Any]] | None = None,
    budget: Budget | None = None,
    time_step: float | None = None,
    gravity: ArrayLike | None = None,
    wind: ArrayLike | None = None,
    stiffness: float = 1.0,
    fabric: str = "",
    self_contact: bool | None = None,
    edits: Edits | None = None,
) -> str:
    """A scene file for a scene that came from a name, a scene file or a mesh file, with some settings changed.

    `stiffness` multiplies the scene's own, or the fabric's; `self_contact`: where it is another than the scene's;
    `edits`: all pins and cuts that were made of its body, those of its own file included.
    Mesh files are named as they were: the scene file belongs beside them.
    """
    rigid = isinstance(scene, RigidScene)
    if not isinstance(scene, Scene | RigidScene):
        raise InputError(f"a scene file describes a Scene (vivace.scenes.load_scene), not {shown(scene)}")
    if rigid and (wind is not None or stiffness != 1):
        raise InputError(f"the scene {scene.name!r} is made of rigid bodies, which have no wind and no stiffness")
    if solver is not None:  # is there such a solver?
        CONTACT_SOLVERS[solver if isinstance(solver, str) else solver[0]] if rigid else make_solver(solver)
    if not isinstance(budget, Budget | None):
        raise InputError(f"a scene file's budget is a Budget, not {shown(budget)}")
    if not is_number(stiffness) or not stiffness > 0:
        raise InputError(f"stiffness multiplies the scene's own and must be positive, not {shown(stiffness)}")
    if not (isinstance(fabric, str) and fabric == ""):
        check_name("fabric", fabric, FABRICS)
    if self_contact is not None:
        self_contact = check_flag("self_contact", self_contact)
    if not isinstance(edits, Edits | None):
        raise InputError(f"a scene file's edits are Edits (vivace.scenes.edits), not {shown(edits)}")
    data = _source(scene)
    data.pop("edits", None)
    world = dict(data.pop("world", {}))
    if time_step is not None:
        world["time_step"] = check_time_step(time_step)
    for name, vector in (("gravity", gravity), ("wind", wind)):
        if vector is not None:
            world[name] = _meant(as_numbers(name, vector, (3,)).tolist())
    if stiffness != 1:
        world["stiffness"] = _meant([float(world.get("stiffness", 1.0)) * float(stiffness)])[0]
    if world:
        data["world"] = world
    if fabric:
        data = {**data, "fabric": fabric}
        data.pop("material", None)
    if self_contact is not None:
        data = {**data, "self_contact": self_contact}
    if solver is not None:
        name, options = (solver, {}) if isinstance(solver, str) else solver
        inner = options.get("inner")
        others = {key: value for key, value in options.items() if key != "inner" and value is not None}
        data["solver"] = {"name": name if inner is None else f"{name}({inner})", **others}
    if edits is not None:
        data["edits"] = edits.table()
    limits = budget or scene.budget
    data["budget"] = {item.name: value for item in fields(limits) if (value := getattr(limits, item.name)) is not None}
    if isinstance(scene, Scene) and scene.tuned:
        data["tuned"] = dict(scene.tuned)
    head = f"# Saved by Vivace {__version__}. Open it with: vivace view FILE, or vivace run FILE."
    return f"{head}\n\n{tomli_w.dumps(_tables_last(data))}"


def _tables_last(data: dict[str, Any]) -> dict[str, Any]:
    """Lines before tables, as TOML wants them."""
    return dict(sorted(data.items(), key=lambda item: isinstance(item[1], dict | list)))


def _meant(values: list[float]) -> list[float]:
    """Numbers without what sines and products have left of rounding: a wind along x has no 3.67e-16 along z."""
    largest = max(map(abs, values))
    return [0.0 if abs(value) < 1e-9 * largest else float(f"{value:.9g}") for value in values]


def _told(scene: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a named scene without those that are None, for which TOML has no word, by default."""
    usual = parameters_of(scene)
    for name, value in parameters.items():
        if value is None and usual[name] is not None:
            raise InputError(f"a scene file cannot say that {name} of {scene!r} is None; choose a value")
    return {name: value for name, value in parameters.items() if value is not None}


def _source(scene: Scene | RigidScene) -> dict[str, Any]:
    """The part of the file that says what is simulated."""
    known = scene.settings
    if "scene" in known:
        data: dict[str, Any] = {"scene": known["scene"], "parameters": _told(known["scene"], known["parameters"])}
        for table in ("fabric", "self_contact", "collisions", "bodies", "world"):
            if table in known:
                data[table] = known[table]
        return data
    if "description" in known:
        return dict(known["description"])
    if "mesh" in known:
        return {"mesh": {"file": known["mesh"], **known.get("options", {})}, "pins": {"highest": HIGHEST}}
    raise InputError(f"{scene.name!r} was made in Python; there is no file that could describe it")
