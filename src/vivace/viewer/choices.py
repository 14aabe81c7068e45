"""What the page offers to choose from: solvers and scenes, by name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from ..checks import as_path
from ..errors import FileError, InputError, UnknownNameError
from ..mesh import Mesh
from ..mesh.readers import READERS
from ..scenes import SCENES, RigidScene, Scene, load_scene, parameters_of, summary_of
from ..scenes.files import LOADING
from ..scenes.own import load_leniently, own_scene
from ..solvers import SOLVERS, Solver, make_solver, options_of
from ..solvers.base import parse_solver
from ..solvers.rigid import CONTACT_SOLVERS, ContactSolver, contact_options, make_contact_solver
from . import messages
from .messages import SceneChoice, SolverChoice

# In the order of the list; each that is registered, and the wrapped ones that are worth comparing.
SOLVER_NAMES = (
    *("auto", "lattice(multigrid)", "newton-multigrid", "lbfgs(multigrid)", "lbfgs(direct)", "vivace"),
    *("chebyshev(vivace)", "multigrid", "pcg(multigrid)", "chebyshev(jacobi)", "jacobi", "weighted-jacobi"),
    *("gauss-seidel", "block-descent", "descent", "direct", "chebyshev(direct)", "pbd-coloured", "pbd-vivace", "pbd"),
    *("pbd-jacobi", "chebyshev(pbd-jacobi)", "newton"),
)

# How a scene starts when it is to be grabbed rather than measured: sizes that two cores follow, a cloth on a table.
# Air of 1.2 kg/m³ slows a cloth of 0.2 kg/m² that falls flat at 1 m/s by ρ v / 2σ = 3/s. Its drag, linear here, is half
# of that, so that it comes to rest as a cloth does.
LIVE: dict[str, dict[str, Any]] = {
    "tablecloth": {"table": True, "air": 1.5},
    "noodles": {"scale": 0.06, "time_step": 1 / 60},
    "cloth-heap": {"scale": 0.03, "time_step": 1 / 60},
    "s0": {"scale": 0.12},
    "s1": {"scale": 0.1, "time_step": 1 / 60},
    "s2": {"scale": 0.03},
    # Firm enough for hands: edges of soft bodies change by less than 2 % on the average and 30 % at most.
    "armadillo": {"resolution": 30, "held": "feet", "youngs_modulus": 1.5e6},
    "dragon": {"resolution": 48, "held": "feet", "youngs_modulus": 1e6},
    "double-helix": {"youngs_modulus": 1.2e6},
    "bar": {"youngs_modulus": 1e6},
    "cube": {"youngs_modulus": 1e5},
    "box-on-jelly": {"youngs_modulus": 8e4},
    "falling-cube": {"drop": 0.2, "stretch": 3e4, "volume": 3e5},
    "falling-bodies": {"bodies": 40, "resolution": 50},
}
# Position based solvers keep lengths by short steps, not by many sweeps: in steps of 1/60 s with eight sweeps the cloth
# of s0 is stretched by 22 % in the mean and 180 % at most, in five substeps by 0.8 % and 18 %.
SUBSTEPS = {"noodles": 6, "cloth-heap": 4, "s0": 5, "s1": 6, "s2": 5, "falling-cube": 8}


COARSE_CLOTH, COARSE_BODY, FINE = 0.25, 0.6, 1.6  # times a scene's own resolution: what the page offers
CITATION = re.compile(r" \[\w+, [^\]]*\]")


@dataclass(frozen=True)
class Target:
    """Where a scene comes from: what `vivace view` was called with, a name that the page chose, or a mesh it sent.

    `body`: the mesh, where it has been read already; `name` is then what to call it, and `file` what a scene file that
    is saved calls the file that it came from.
    """

    name: str
    parameters: dict[str, Any]
    body: Mesh | None = None
    file: str = ""

    def load(self) -> Scene | RigidScene:
        """The scene, with the parameters for looking at it where none are given; a file's goes by a name of its own."""
        if self.is_mesh:
            scene: Scene | RigidScene = self._own()
        else:
            scene = load_scene(self.name, **{**LIVE.get(self.name, {}), **self.parameters})
            if isinstance(scene, Scene) and self.name in SUBSTEPS:
                scene = replace(scene, substeps=SUBSTEPS[self.name])
        return scene if self.is_named or scene.name not in SCENES else replace(scene, name=f"{scene.name} (file)")

    def _own(self) -> Scene:
        options = dict(self.parameters)
        kind = options.pop("kind", None)
        options.pop("sew", None)  # what was split is sewn, whether somebody asks for it or not
        if self.body is not None:
            return replace(own_scene(self.body, kind, file=self.file), name=self.name)
        path = as_path(self.name, "a scene")
        if not path.is_file():
            raise FileError(f"there is no file {path}")
        unknown = set(options) - LOADING
        if unknown:
            raise InputError(f"a mesh file takes kind, {', '.join(sorted(LOADING))}, not {', '.join(sorted(unknown))}")
        return own_scene(load_leniently(path, **options), kind, file=path.name)

    @property
    def is_mesh(self) -> bool:
        """Whether it is a mesh, and not a scene."""
        return self.body is not None or (not self.is_named and Path(self.name).suffix.lower() in READERS)

    def with_parameters(self, **parameters: Any) -> Target:
        """The same with some parameters changed."""
        return replace(self, parameters={**self.parameters, **parameters})

    @property
    def is_named(self) -> bool:
        """Whether it is a registered scene, and not a file."""
        return self.name in SCENES


def solver_choices(own: str = "") -> list[SolverChoice]:
    """All solvers, first `own`, that of a scene with options of its own, when it is none of them."""
    names = list(SOLVER_NAMES) if own in ("", *SOLVER_NAMES) else [own, *SOLVER_NAMES]
    return [_choice(name) for name in names]


def contact_solver_choices(own: str = "") -> list[SolverChoice]:
    """All contact solvers; first `own`, that of a scene, if it is none of them as they are."""
    names = [*CONTACT_SOLVERS] if own in ("", *CONTACT_SOLVERS) else [own, *CONTACT_SOLVERS]
    summaries = ((type(make_contact_solver(name)).__doc__ or "").strip().partition("\n")[0] for name in names)
    return [
        SolverChoice(name, CITATION.sub("", summary), None, None)
        for name, summary in zip(names, summaries, strict=True)
    ]


def _choice(name: str) -> SolverChoice:
    cls = type(make_solver(name))
    summary = (cls.__doc__ or "").strip().partition("\n")[0]
    omega = options_of(cls).get("omega")
    default = float(omega) if isinstance(omega, (int, float)) else None
    return SolverChoice(name, summary, default, None if default is None else most_relaxation(name))


def most_relaxation(name: str) -> float:
    """The largest ω that a solver takes, to two places."""
    for omega in (1.99, 1.0):
        try:
            make_solver(with_relaxation(name, omega))
        except InputError:
            continue
        return omega
    return 1.0


def with_relaxation(name: str, omega: float | None) -> tuple[str, dict[str, Any]]:
    """What `make_solver` takes for a solver with that ω."""
    head, options = parse_solver(name)
    return head, options if omega is None else {**options, "omega": omega}


def name_of(solver: Solver | ContactSolver) -> str:
    """A solver's name with those of its options that are not the default, ω of those for soft bodies aside."""
    if isinstance(solver, ContactSolver):
        usual = contact_options(type(solver))
        own = ",".join(f"{key}={getattr(solver, key)}" for key in usual if getattr(solver, key) != usual[key])
        return f"{solver.name}:{own}" if own else solver.name
    defaults = options_of(type(solver))
    changed = {key: getattr(solver, key) for key, value in defaults.items() if key not in ("inner", "omega")}
    text = ",".join(f"{key}={value}" for key, value in changed.items() if value != defaults[key])
    return f"{solver.name}:{text}" if text else solver.name


def check_solver(name: str, known: list[SolverChoice]) -> SolverChoice:
    """The choice of that name; raises UnknownNameError where there is none."""
    for choice in known:
        if choice.name == name:
            return choice
    raise UnknownNameError("solver", name, [choice.name for choice in known])


def scene_choices(own: str, also: Iterable[str] = ()) -> list[SceneChoice]:
    """All named scenes; before them `own`, which the viewer began with, if it is none of these, and meshes it got."""
    named = [SceneChoice(name, CITATION.sub("", summary_of(name))) for name in SCENES]
    sent = [SceneChoice(name, "Your own mesh.") for name in also if name != own]
    return [*sent, *named] if own in SCENES else [SceneChoice(own, "What the viewer was opened with."), *sent, *named]


def resolution_of(target: Target, cloth: bool) -> list[int]:
    """The resolution of a named scene that has one, with the least and the most to offer; [] for others."""
    if not target.is_named or "resolution" not in parameters_of(target.name):
        return []
    usual = LIVE.get(target.name, {}).get("resolution", parameters_of(target.name)["resolution"])
    now = target.parameters.get("resolution", usual)
    least, most = get_args(messages.Resolution)[1].ge, get_args(messages.Resolution)[1].le
    coarsest = (COARSE_CLOTH if cloth else COARSE_BODY) * usual
    low, high = max(least, math.ceil(coarsest)), min(most, int(FINE * usual))
    return [int(now), min(low, int(now)), max(high, int(now))]


assert all(name.partition("(")[0] in SOLVERS for name in SOLVER_NAMES)
