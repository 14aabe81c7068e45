"""A scene: a model, how it starts, how to look at it. One definition serves tests, benchmarks and the CLI."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import FASTEST, check_name, check_time_step, check_within, real_array, shown
from ..errors import InputError, VivaceError
from ..model.model import Model
from ..registry import Registry
from ..simulation.motion import INTEGRATORS
from ..simulation.simulation import Simulation
from ..solvers import Budget, Solver, make_solver
from ..solvers.chebyshev import AUTO, ChebyshevMethod
from ..solvers.descent.descent import Descent
from .rigid_scene import RigidScene


@dataclass(frozen=True, eq=False)
class Scene:
    """A model, how it starts and how to simulate it.

    Attributes:
        name: of the scene.
        model: what moves.
        time_step: of a frame (s).
        start: positions to start from (n, 3), when not at rest.
        solver: see `Simulation`.
        budget: of a frame.
        frames: how many a run has unless told otherwise.
        view: from where to look, as a direction from the middle.
        settings: all that made it, for the record.
        tuned: the ρ that `vivace tune` found for Chebyshev solvers and `descent`, by solver; used where ρ is "auto".
        wind: velocity of the air (m/s).
        guess: see `Simulation`.
        substeps: see `Simulation`.
        integrator: see `Simulation`.
    """

    name: str
    model: Model
    time_step: float
    start: np.ndarray | None = None
    solver: str | tuple[str, dict[str, Any]] = "auto"
    budget: Budget = field(default_factory=lambda: Budget(ms=8.0))
    frames: int = 120
    view: tuple[float, float, float] = (0.55, 0.5, 1.0)
    settings: dict[str, Any] = field(default_factory=dict)
    tuned: dict[str, float | str] = field(default_factory=dict)
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    guess: str = "inertia"
    substeps: int | str = "auto"
    integrator: str = "euler"

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise InputError(f"a scene is made of a Model (Model.of(mesh, material)), not {shown(self.model)}")
        check_time_step(self.time_step)
        check_name("integrator", self.integrator, INTEGRATORS)
        wind = real_array(self.wind)
        if wind is None or wind.shape != (3,) or not np.isfinite(wind).all():
            raise InputError(f"wind must be three finite numbers in m/s, not {shown(self.wind)}")
        check_within("wind", wind, FASTEST, "m/s")

    @property
    def is_cloth(self) -> bool:
        """Whether the model has a surface and no volume."""
        return bool(len(self.model.mesh.triangles)) and not self.model.mesh.is_volumetric

    def simulate(
        self,
        *,
        solver: str | tuple[str, dict[str, Any]] | Solver | None = None,
        budget: Budget | float | None = None,
        threads: int | None = None,
        seed: int = 0,
        substeps: int | str | None = None,
        integrator: str | None = None,
    ) -> Simulation:
        """A simulation at the scene's start.

        Args:
            solver: as for `Simulation`; by default the scene's own, as are budget, substeps and integrator.
            budget: of a frame.
            threads: by default one for each core.
            seed: of the colouring.
            substeps: steps that a frame is made of, or "auto".
            integrator: "euler", "bdf2" or "quasi-static".
        """
        chosen = make_solver(self.solver if solver is None else solver)
        mine = not isinstance(solver, Solver)  # a caller's own solver stays as it is
        tunable = isinstance(chosen, ChebyshevMethod) or (isinstance(chosen, Descent) and chosen.direction == "jacobi")
        if mine and tunable and chosen.rho == AUTO and chosen.name in self.tuned:  # type: ignore[attr-defined]
            chosen.rho = self.tuned[chosen.name]  # type: ignore[attr-defined]
        sim = Simulation(
            self.model,
            solver=chosen,
            budget=self.budget if budget is None else budget,
            time_step=self.time_step,
            threads=threads,
            seed=seed,
            guess=self.guess,
            substeps=self.substeps if substeps is None else substeps,
            integrator=self.integrator if integrator is None else integrator,
        )
        if self.start is not None:
            sim.positions = self.start
        sim.wind = self.wind
        return sim


SCENES: Registry[Callable[..., Scene | RigidScene]] = Registry("scene")


def make_scene(name: str, /, **parameters: Any) -> Scene | RigidScene:
    """A registered scene with some of its parameters changed: a Scene of soft bodies, or a RigidScene.

    Args:
        name: of a scene; `vivace list scenes` shows them with their parameters.
        **parameters: those that are to differ from their defaults.
    """
    define = SCENES[name]
    known = inspect.signature(define).parameters
    for key in parameters:
        if key not in known:
            raise InputError(f"scene {name!r} has no parameter {key!r}; its parameters: {', '.join(known) or 'none'}")
        usual = known[key].default
        if parameters[key] is None and usual is not None and usual is not inspect.Parameter.empty:
            raise InputError(f"{key} of the scene {name!r} must not be None; leave it out for {shown(usual)}")
    try:
        scene = define(**parameters)
    except VivaceError:
        raise
    except (TypeError, ValueError, ZeroDivisionError, OverflowError, MemoryError) as error:
        raise InputError(f"scene {name!r} cannot be made with {shown(parameters)}: {error}") from error
    scene.settings.update(scene=name, parameters={**parameters_of(name), **parameters})
    return scene


def parameters_of(name: str) -> dict[str, object]:
    """Names and defaults of a scene's parameters."""
    return {key: value.default for key, value in inspect.signature(SCENES[name]).parameters.items()}


def summary_of(name: str) -> str:
    """The first line of a scene's docstring."""
    return (inspect.getdoc(SCENES[name]) or "").partition("\n")[0]


def is_rigid(name: str) -> bool:
    """Whether a registered scene says that it is a RigidScene."""
    return inspect.signature(SCENES[name]).return_annotation in (RigidScene, RigidScene.__name__)


def soft(scene: Scene | RigidScene) -> Scene:
    """The scene, for what knows soft bodies only; raises an InputError for one of rigid bodies."""
    if isinstance(scene, RigidScene):
        raise InputError(
            f"the scene {scene.name!r} is made of rigid bodies, and this works on soft ones; "
            f"'vivace run {scene.name}', 'vivace view {scene.name}' and scene.simulate() are for it"
        )
    return scene
