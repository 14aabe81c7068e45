"""Scenes to files: a scene as it runs now, in the TOML that `load_scene` reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import tomli_w
from numpy.typing import ArrayLike

from .._version import __version__
from ..errors import InputError
from ..solvers import Budget
from .files import HIGHEST
from .scene import Scene


def scene_text(
    scene: Scene,
    *,
    solver: tuple[str, dict[str, Any]] | None = None,
    budget: Budget | None = None,
    time_step: float | None = None,
    gravity: ArrayLike | None = None,
    wind: ArrayLike | None = None,
    stiffness: float = 1.0,
) -> str:
    """A scene file for a scene that came from a name, a scene file or a mesh file, with some settings changed.

    `stiffness` multiplies the scene's own. Mesh files are named as they were: the scene file belongs beside them.
    """
    data = _source(scene)
    world = dict(data.pop("world", {}))
    if time_step is not None:
        world["time_step"] = float(time_step)
    for name, vector in (("gravity", gravity), ("wind", wind)):
        if vector is not None:
            world[name] = np.asarray(vector, np.float64).tolist()
    if stiffness != 1:
        world["stiffness"] = float(world.get("stiffness", 1.0)) * float(stiffness)
    if world:
        data["world"] = world
    if solver is not None:
        name, options = solver
        inner = options.get("inner")
        others = {key: value for key, value in options.items() if key != "inner" and value is not None}
        data["solver"] = {"name": name if inner is None else f"{name}({inner})", **others}
    limits = budget or scene.budget
    data["budget"] = {
        name: value for name in ("ms", "iterations", "tolerance") if (value := getattr(limits, name)) is not None
    }
    if scene.tuned:
        data["tuned"] = dict(scene.tuned)
    return (
        f"# Saved by Vivace {__version__}. Open it with: vivace view FILE, or vivace run FILE.\n\n{tomli_w.dumps(data)}"
    )


def _source(scene: Scene) -> dict[str, Any]:
    """The part of the file that says what is simulated."""
    known = scene.settings
    if "scene" in known:
        data: dict[str, Any] = {"scene": known["scene"], "parameters": dict(known["parameters"])}
        for table in ("collisions", "world"):
            if table in known:
                data[table] = known[table]
        return data
    if "description" in known:
        return dict(known["description"])
    if "mesh" in known:
        return {"mesh": {"file": known["mesh"]}, "pins": {"highest": HIGHEST}}
    raise InputError(f"{scene.name!r} was made in Python; there is no file that could describe it")
