"""Options that several commands share, and values that are checked while they are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ..checks import read_value
from ..scenes import SCENES, Scene, load_scene, parameters_of
from ..solvers import Budget

TARGET_HELP = (
    "a scene's name (see 'vivace list scenes'), a scene file (.toml) "
    "or a mesh file (.obj .ply .stl .glb .msh .vtk .node)"
)


def add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help=TARGET_HELP)
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="parameters",
        help="change a named scene's parameter, e.g. --set resolution=50; may be repeated",
    )


def add_common(parser: argparse.ArgumentParser, *, threads: bool = True) -> None:
    if threads:
        parser.add_argument("--threads", type=positive_int, metavar="T", help="default: one for each core")
    parser.add_argument("--seed", type=natural, default=0, metavar="S", help="of everything random (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def scene_of(arguments: argparse.Namespace) -> Scene:
    parameters = dict(parameter(text) for text in arguments.parameters)
    if arguments.target in SCENES and "seed" in parameters_of(arguments.target):
        parameters.setdefault("seed", arguments.seed)
    return load_scene(arguments.target, **parameters)


def budget_of(arguments: argparse.Namespace) -> Budget | None:
    """The budget asked for, or None for the scene's own."""
    limits = (arguments.budget_ms, arguments.iterations, arguments.tolerance)
    return None if limits == (None, None, None) else Budget(*limits)


def parameter(text: str) -> tuple[str, object]:
    """name=value, the value read as a number or a truth value where it is one."""
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), read_value(value)


def _number(kind: Callable, test: Callable[[float], bool], wanted: str) -> Callable[[str], object]:
    def convert(text: str) -> object:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not test(value):
            raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
        return value

    return convert


positive_int = _number(int, lambda v: v >= 1, "a whole number of at least 1")
natural = _number(int, lambda v: 0 <= v < 2**63, "a whole number from 0 on")
positive = _number(float, lambda v: 0 < v < float("inf"), "a positive number")
share = _number(float, lambda v: 0 < v < 1, "a number between 0 and 1")


def list_of(convert: Callable[[str], object]) -> Callable[[str], list]:
    """Values separated by commas."""
    return lambda text: [convert(part.strip()) for part in text.split(",") if part.strip()]


def solver_names(text: str) -> list[str]:
    """Solvers separated by commas; an option of the form name=value continues the solver before it."""
    names: list[str] = []
    for part in text.split(","):
        if names and ":" in names[-1] and "=" in part and ":" not in part:
            names[-1] += f",{part}"
        elif part.strip():
            names.append(part.strip())
    return names
