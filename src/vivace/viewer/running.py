"""What every running scene has in common: simulations and the settings they run with. No threads here.

Every setting has a method `set_NAME`, which changes it in all simulations from the next step on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..scenes import RigidScene, Scene
from ..scenes.edits import Edits
from ..solvers import Budget
from .body_mesh import RigidBackdrop
from .messages import RANGES, BodyKind, ColourBy, Grab, Settings, SolverChoice
from .snapshot import Backdrop, SimulationView

DEFAULT_MS = 8.0

Sim = TypeVar("Sim")


class Lost(Exception):
    """A solver has lost its simulation, or cannot go on with it. `k`: which of the two."""

    def __init__(self, k: int, why: str):
        super().__init__(why)
        self.k = k


class Running(ABC, Generic[Sim]):
    """A scene that runs.

    Attributes:
        sims: its simulation, and in a split view the other.
        names: of their solvers.
        choices: solvers that there are for it.
        slipped: pointers that have lost what they held in the last step.
    """

    bodies: ClassVar[BodyKind]
    fallback: ClassVar[str]  # the solver that goes on where another has failed

    scene: Scene | RigidScene
    sims: list[Sim]
    names: list[str]
    choices: list[SolverChoice]
    backdrop: Backdrop | RigidBackdrop
    pointers: Any
    settings: Settings
    time: float
    slipped: Sequence[tuple[str, int]] = ()

    @abstractmethod
    def step(self, spent_ms: float = 0.0) -> tuple[SimulationView, ...]:
        """A step of every simulation; Lost if one of them has no result.

        `spent_ms`: of the budget, on what people asked for before it.
        """

    @abstractmethod
    def reset(self) -> None:
        """Everything back to where it started; nothing is held."""

    def without_added(self) -> Running[Any]:
        """The running scene without the bodies that people have added: itself, where there are none."""
        return self

    @abstractmethod
    def grab(self, key: tuple[str, int], message: Grab) -> None:
        """A pointer takes hold of something."""

    @abstractmethod
    def maker(self, name: str) -> Callable[[], Any]:
        """A function for another thread that makes a solver, and has it set up and compiled for this scene."""

    @abstractmethod
    def use_solver(self, k: int, name: str, solver: Any, omega: float | None) -> None:
        """Let simulation k go on with another solver."""

    @abstractmethod
    def use_fallback(self, k: int) -> None:
        """Let simulation k go on with the solver that is used where others fail."""

    def check_comparable(self) -> None:
        """Refuse a split view, where there is none."""

    @abstractmethod
    def compare_with(self, name: str, solver: Any) -> None:
        """A second simulation that goes on from where the first is."""

    @abstractmethod
    def compare_no_more(self) -> None:
        """End the split view."""

    def carried(self) -> list[Any]:
        """What hands have moved and let go of since this was asked last, to be taken back."""
        return []

    @property
    def edits(self) -> Edits | None:
        """Pins and cuts that people have made; None where there are none."""
        return None

    @property
    def pins(self) -> int:
        """How many vertices are pinned."""
        return 0

    # --- settings -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def controls(self) -> list[str]:
        """The settings that do something for this scene and its solver."""

    @property
    def offered(self) -> list[str]:
        """Names of the solvers that can do what the scene needs."""
        return [choice.name for choice in self.choices]

    @property
    def colourings(self) -> list[ColourBy]:
        """What there is to colour the body by."""
        return ["plain"]

    def _set(self, **values: Any) -> None:
        self.settings = replace(self.settings, **values)

    def _set_all(self, name: str, value: Any) -> None:
        for sim in self.sims:
            setattr(sim, name, value)

    def set_budget_ms(self, value: float) -> None:
        """Give every step so many milliseconds."""
        self._set_all("budget", Budget(ms=value))
        self._set(budget_ms=value)

    @abstractmethod
    def set_iterations(self, value: int) -> None:
        """Give every substep so many iterations, however long they take."""

    def set_gravity(self, value: float) -> None:
        """Set gravity (m/s², downward)."""
        self._set_all("gravity", np.array([0.0, -value, 0.0]))
        self._set(gravity=value)

    def set_time_step(self, value: float) -> None:
        """Set the time that a step simulates (s)."""
        self._set_all("time_step", value)
        self._set(time_step=value)

    def set_grab_radius(self, value: float) -> None:
        """Set how far around a grabbed vertex others are held with it (m)."""
        self._set(grab_radius=value)

    @abstractmethod
    def set_hand_force(self, value: float) -> None:
        """Set what a pointer pulls with at most (N)."""

    def set_colour_by(self, value: ColourBy) -> None:
        """Set what the colours of the body show."""
        self._set(colour_by=value)

    def set_paused(self, value: bool) -> None:
        """Stop the simulation, or let it go on."""
        self._set(paused=value)

    @abstractmethod
    def set_wind(self, value: float) -> None:
        """Set the speed of the wind (m/s)."""

    @abstractmethod
    def set_wind_heading(self, value: float) -> None:
        """Turn the wind (degrees; 0 is +x, 90 is -z)."""

    @abstractmethod
    def set_fabric(self, value: str) -> None:
        """Make cloth of a fabric, by its name; "" as the scene has it."""

    @abstractmethod
    def set_self_contact(self, value: bool) -> None:
        """Let the body touch itself, or not."""

    @abstractmethod
    def set_stiffness(self, value: float) -> None:
        """Set all stiffnesses to so many times the scene's own."""

    @abstractmethod
    def set_relaxation(self, value: float) -> None:
        """Set ω of the solver, at most what it can take; InputError where it has none."""


def shortened(budget: Budget, ms: float) -> Budget:
    """A budget of which so much is spent; at least half of it is left."""
    return budget if budget.ms is None else replace(budget, ms=max(budget.ms - ms, 0.5 * budget.ms))


def within(name: str, value: float) -> float:
    """A setting within its range."""
    low, high = RANGES[name]
    return float(np.clip(value, low, high))
