"""Options that several commands share, and values that are checked while they are read."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..checks import is_number, is_whole, read_value, shown
from ..errors import InputError

if TYPE_CHECKING:  # commands that need them load them; `vivace view` shows a page before
    from ..scenes import RigidScene, Scene
    from ..solvers import Budget

TARGET_HELP = (
    "a scene's name (see 'vivace list scenes'), a scene file (.toml) "
    "or a mesh file (.obj .ply .stl .glb .msh .vtk .node)"
)


def add_target(parser: argparse.ArgumentParser, *, several: bool = False, optional: bool = False) -> None:
    """Add the scene or file that a command works on, or several or at most one, and --set for its parameters."""
    if several:
        parser.add_argument("targets", metavar="TARGET", nargs="+", help=TARGET_HELP)
    else:
        parser.add_argument("target", metavar="TARGET", help=TARGET_HELP, nargs="?" if optional else None)
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="parameters",
        help="change a named scene's parameter, e.g. --set resolution=50; of a mesh file, how it is read: --set "
        "repair=true, split=true, sew=true, tetrahedralise=true; may be repeated"
        + ("; goes to every scene that has it" if several else ""),
    )


def add_common(parser: argparse.ArgumentParser, *, threads: bool = True) -> None:
    """Add the options that most commands have."""
    if threads:
        parser.add_argument(
            "--threads", type=positive_int, metavar="T", help="default: one for each core, or one where that is faster"
        )
    parser.add_argument("--seed", type=natural, default=0, metavar="S", help="of everything random (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def substeps(text: str) -> int | str:
    """A number of substeps, or auto."""
    return text if text == "auto" else int(positive_int(text))  # type: ignore[call-overload]


def any_scene_of(arguments: argparse.Namespace) -> Scene | RigidScene:
    """The scene that a command was asked for, of soft bodies or of rigid ones."""
    return _scene(arguments.target, dict(map(parameter, arguments.parameters)), arguments.seed)


def scene_of(arguments: argparse.Namespace) -> Scene:
    """The scene of soft bodies that a command was asked for."""
    from ..scenes import soft

    return soft(any_scene_of(arguments))


def scenes_of(arguments: argparse.Namespace) -> list[Scene]:
    """Several scenes of soft bodies under different names; a parameter goes to those that have it, at least one."""
    from ..scenes import SCENES, parameters_of, soft

    targets, parameters = arguments.targets, dict(map(parameter, arguments.parameters))
    if len(targets) == 1:
        return [soft(_scene(targets[0], parameters, arguments.seed))]
    for target, count in Counter(targets).items():
        if count > 1:
            raise InputError(f"the scene {target!r} is there twice; leave one out")
    known = {target: parameters_of(target) if target in SCENES else {} for target in targets}
    for name in parameters:
        if not any(name in had for had in known.values()):
            theirs = "; ".join(f"{target}: {', '.join(had) or 'none'}" for target, had in known.items())
            raise InputError(f"none of the scenes has a parameter {name!r}; their parameters are {theirs}")
    scenes = []
    for target, had in known.items():
        own = {name: v for name, v in parameters.items() if name in had}
        scenes.append(soft(_scene(target, own, arguments.seed)))
    names = Counter(scene.name for scene in scenes)
    return [
        scene if names[scene.name] == 1 else replace(scene, name=target)
        for scene, target in zip(scenes, targets, strict=True)
    ]


def _scene(target: str, parameters: dict[str, Any], seed: int) -> Scene | RigidScene:
    from ..scenes import SCENES, load_scene, parameters_of

    if target in SCENES and "seed" in parameters_of(target):
        parameters.setdefault("seed", seed)
    return load_scene(target, **parameters)


def budget_of(arguments: argparse.Namespace) -> Budget | None:
    """The budget asked for, or None for the scene's own."""
    from ..solvers import Budget

    limits = (arguments.budget_ms, arguments.iterations, arguments.tolerance)
    return None if limits == (None, None, None) else Budget(*limits)


def parameter(text: str) -> tuple[str, object]:
    """name=value, the value read as a number, a truth value or None where it is one."""
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), read_value(value)


def _number(kind: type[int] | type[float], test: Callable[[float], bool], wanted: str) -> Callable[[str], object]:
    is_kind = is_whole if kind is int else is_number

    def convert(text: str) -> object:
        value: Any = read_value(text)
        if not is_kind(value) or not test(value):
            raise argparse.ArgumentTypeError(f"must be {wanted}, not {shown(text)}")
        return kind(value)

    return convert


positive_int = _number(int, lambda v: v >= 1, "a whole number of at least 1")
natural = _number(int, lambda v: 0 <= v < 2**63, "a whole number from 0 on")
positive = _number(float, lambda v: v > 0, "a positive number")
share = _number(float, lambda v: 0 < v < 1, "a number between 0 and 1")


def list_of(convert: Callable[[str], object]) -> Callable[[str], list[object]]:
    """Values separated by commas."""
    return lambda text: [convert(part.strip()) for part in text.split(",") if part.strip()]


def solver_names(text: str) -> list[str]:
    """Solvers separated by commas: not by those inside parentheses, nor by one before an option name=value."""
    names: list[str] = []
    for part in _split(text, ","):
        if names and len(_split(names[-1], ":")) > 1 and re.match(r"\s*[\w-]+\s*=", part):
            names[-1] += f",{part.rstrip()}"
        elif part.strip():
            names.append(part.strip())
    return names


def _split(text: str, separator: str) -> list[str]:
    """`text` at every `separator` that is not inside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if depth:
        raise argparse.ArgumentTypeError(f"{text!r} has a parenthesis without its partner")
    return parts
