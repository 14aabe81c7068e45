"""What a user of a simulation reads and writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..checks import FARTHEST, FASTEST, LARGEST, STRONGEST, as_numbers, check_time_step, is_number, is_whole, shown
from ..colouring import Colouring
from ..deprecation import renamed
from ..errors import InputError
from ..model import Model
from ..solvers import Budget, Solver, as_budget, make_solver
from ..solvers.base import solver_as_data
from .checkpoint import write_checkpoint
from .creases import Creases
from .grabs import Grabs
from .hands import Hands
from .holding import Holding
from .motion import as_rows, check_suits
from .rigid_part import RigidPart
from .state import State

MOST_SUBSTEPS = 1000


class Controls(Holding):
    """The part of a simulation that is not its step."""

    viewer: ClassVar[Callable[..., Any] | None] = None  # how `view` shows a simulation; the package sets it

    guess: str
    integrator: str
    frames: int
    _budget: Budget
    _forces: np.ndarray
    _gravity: np.ndarray
    bodies: RigidPart | None
    _wind: np.ndarray
    _asked_substeps: int | str
    _substeps: int
    _after_ns: int
    _creases: Creases
    _seconds: float
    _from_frame: int
    seed: int
    trace: bool

    @abstractmethod
    def _choose_substeps(self) -> None:
        """The solver or the budget has changed."""

    @property
    def state(self) -> State:
        """All that is carried from step to step: a copy; assign one to go on from there, bit for bit.

        Of a simulation of the same vertices and pins, with the same form and integrator. Another solver, budget or
        time step may go on with it, too, but then not with the same bits.
        """
        pinned, targets = self._last_targets or (self.model.pinned[:0], np.zeros((0, 3)))
        motion, grabs = self._motion, self._grabs
        memory = {**motion.memory(), **{f"solver.{name}": a for name, a in self._solver.remembered().items()}}
        memory |= self._hands.memory() | self._creases.memory() | ({} if self.bodies is None else self.bodies.memory())
        return State(
            *(motion.q[:, :3].copy(), motion.v[:, :3].copy(), self._forces.copy(), self._gravity.copy(), self.wind),
            *(self.model.pinned.copy(), grabs.targets.copy(), np.array(grabs.grabbed, np.int64), grabs.homes),
            *(pinned.copy(), targets.copy(), self.time, self.frames),
            *(motion.form, self.integrator, self._solver.name),
            memory=memory,
            counted_seconds=self._seconds,
            counted_frames=self._from_frame,
        )

    @state.setter
    def state(self, value: State) -> None:
        motion, n = self._motion, self.model.n
        if not isinstance(value, State) or len(value.positions) != n:
            raise InputError(f"a simulation of {n} vertices goes on with a State of as many, not {value!r}")
        if (value.form, value.integrator) != (motion.form, self.integrator):
            raise InputError(
                f"the state is of form={value.form!r}, integrator={value.integrator!r}; this simulation has "
                f"form={motion.form!r}, integrator={self.integrator!r}"
            )
        value.check(n)
        hands = Hands.recall(self.model.mesh, value.memory)
        self._creases.check(value.memory)
        held = value.pinned, value.targets, value.grabbed.tolist(), value.homes
        grabs = self._grabs.restored(*held, hands.soft)
        self.prepare()  # without what is grabbed, as the simulation was before it was grabbed
        self._grabs, self._hands, self.slipped = grabs, hands, ()
        self._hold()
        motion.q[:], motion.v[:] = as_rows(value.positions), as_rows(value.velocities)
        self._forces, self._gravity = value.forces.astype(np.float64), value.gravity.astype(np.float64)
        self._wind = value.wind.astype(np.float64)
        self._accelerate()
        self._last_targets = value.last_pinned.copy(), value.last_targets.copy()
        self.frames = value.frames
        self._seconds, self._from_frame = value.seconds, value.frames
        seconds, frames = value.counted_seconds, value.counted_frames
        if seconds is not None and frames is not None and seconds + (value.frames - frames) * self._h == value.seconds:
            self._seconds, self._from_frame = seconds, frames  # the time step is the same
        self.prepare()
        self._solver.forget()
        motion.restart()
        motion.recall(value.memory)
        self._creases.recall(value.memory)
        if self.bodies is not None:
            self.bodies.recall(value.memory)
        if value.solver == self._solver.name:
            own = {name[7:]: array for name, array in value.memory.items() if name.startswith("solver.")}
            self._solver.recall(own)

    @property
    def form(self) -> str:
        """What is kept between steps: "velocity" or "verlet"."""
        return self._motion.form

    @property
    def time(self) -> float:
        """Simulated seconds.

        Assign to let paths of pins, and animated meshes, go on from another time; those of rigid bodies do not.
        """
        return self._seconds + (self.frames - self._from_frame) * self._h

    @time.setter
    def time(self, value: float) -> None:
        if not is_number(value):
            raise InputError(f"the time of a simulation is a number of seconds, not {shown(value)}")
        self._seconds, self._from_frame = float(value), self.frames

    @property
    def time_step(self) -> float:
        """Of a frame (s); assign to change it from the next step on. All else stays as it is, velocities too."""
        return self._h

    @time_step.setter
    def time_step(self, value: float) -> None:
        h, time = check_time_step(value), self.time
        if h == self._h:
            return
        pulled(self._model, self._gravity, self._forces, h)
        self._h = h
        self._adopt(self._model)
        self._seconds, self._from_frame = time, self.frames

    @property
    def substeps(self) -> int:
        """How many steps a frame is made of; assign a number, or "auto" to leave it to the solver."""
        return self._substeps

    @substeps.setter
    def substeps(self, value: int | str) -> None:
        self._asked_substeps = check_substeps(value)
        self._adopt(self._model)

    @property
    def asked_substeps(self) -> int | str:
        """What was asked for: a number, or "auto"."""
        return self._asked_substeps

    @property
    def solver(self) -> Solver:
        """Who solves; assign what the constructor takes, and the next step is prepared for and solved by it."""
        return self._solver

    @solver.setter
    def solver(self, value: str | tuple[str, dict[str, Any]] | Solver) -> None:
        self._solver = make_solver(value)
        self._after_ns = 0
        self._choose_substeps()

    @property
    def model(self) -> Model:
        """What is simulated; assign one with the same vertices (pins or constraints added) to go on with it.

        Nothing but positions, velocities and forces is kept then; see `replace_model`.
        """
        return self._model

    @model.setter
    def model(self, value: Model) -> None:
        self._check_model(value)
        pulled(value, value.gravity, self._forces, self._h)
        self._grabs, self._hands, self._gravity = Grabs(value), Hands(value.mesh), value.gravity
        self._creases = Creases()
        self._adopt(value)

    def replace_model(self, model: Model) -> None:
        """Go on with another model of the same vertices from the next step on, and keep all that was set.

        That is gravity, wind, forces, what is grabbed, moved targets of pins that both models have (the same vertex,
        held at the same place at first), and creases. `model`: without pins for what is grabbed, which it gets.

            sim.replace_model(model.stiffened(2.0))
        """
        self._check_model(model)
        grabs = self._grabs.over(model)
        self._adopt(grabs.model)
        self._grabs = grabs

    exchange = renamed("Simulation.exchange", replace_model, "Simulation.replace_model")

    def creased(self) -> Model:
        """The model with the creases that it has now as its shape at rest; the same model where there are none."""
        return self._creases.kept(self._grabs.plain)

    def crease_like(self, model: Model) -> None:
        """Go on with the creases that a model of the same vertices has, `other.creased()` for one."""
        self._check_vertices(model)
        self._creases.take(model)

    def _check_model(self, value: Model) -> None:
        self._check_vertices(value)
        check_suits(value, self.integrator)

    def _check_vertices(self, value: Model) -> None:
        if not isinstance(value, Model) or value.n != self._model.n:
            raise InputError(f"a running simulation takes a Model with its own {self._model.n} vertices")

    @property
    def budget(self) -> Budget:
        """When a step stops; assign a Budget or a number of milliseconds."""
        return self._budget

    @budget.setter
    def budget(self, value: Budget | float) -> None:
        self._budget = as_budget(value)
        self._choose_substeps()

    @property
    def gravity(self) -> np.ndarray:
        """Gravity (3,), m/s²: a copy; assign to change it from the next step on."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        gravity = as_numbers("gravity", value, (3,), most=STRONGEST, unit="m/s²").copy()
        pulled(self._model, gravity, self._forces, self._h)
        self._gravity = gravity
        if self.bodies is not None:
            self.bodies.rigid.gravity = gravity
        self._accelerate()

    @property
    def wind(self) -> np.ndarray:
        """Velocity of the air (3,), m/s: a copy; assign to change it from the next step on. See `simulation.wind`.

        It presses on triangles: a model without any, such as a wire, does not feel it. Zero is no wind at all, not
        still air, which is the model's `air`.
        """
        return self._wind.copy()

    @wind.setter
    def wind(self, value: ArrayLike) -> None:
        self._wind = as_numbers("wind", value, (3,), most=FASTEST, unit="m/s").copy()

    @property
    def positions(self) -> np.ndarray:
        """Positions of the vertices (n, 3), m: a copy; assign the whole array to change them."""
        return self._motion.q[:, :3].copy()

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self._motion.q[:] = as_rows(
            as_numbers("positions", value, (self.model.n, 3), most=LARGEST)
        )  # the fourth column may be lost too
        self._creases.step(self._motion.q, 0.0)
        self._restart()

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of the vertices (n, 3), m/s: a copy."""
        return self._motion.v[:, :3] / self._motion.per_velocity

    @velocities.setter
    def velocities(self, value: ArrayLike) -> None:
        motion, most = self._motion, min(FASTEST, LARGEST / self._h)  # no step may lead farther than positions may be
        velocities = as_numbers("velocities", value, (self.model.n, 3), most=most, unit="m/s")
        motion.v[:] = as_rows(velocities * motion.per_velocity)
        self._motion.forget_guess()
        self._restart()

    def _restart(self) -> None:
        """What was before the present positions and velocities does not lead to them."""
        self._solver.forget()
        self._motion.restart()

    @property
    def _length(self) -> float:
        """Of a substep (s); `system.h` is what the integrator makes of it."""
        return self._h / self._substeps

    @property
    def targets(self) -> np.ndarray:
        """Where the pins hold `model.pinned` (p, 3), m: a copy; assign to move them."""
        return self._grabs.targets.copy()

    @targets.setter
    def targets(self, value: ArrayLike) -> None:
        self._grabs.targets[:] = as_numbers("targets", value, self._grabs.targets.shape, most=LARGEST)

    def apply_forces(self, forces: ArrayLike) -> None:
        """External forces on the vertices (n, 3), N, from now on; gravity comes on top."""
        given = as_numbers("forces", forces, (self.model.n, 3)).copy()
        pulled(self._model, self._gravity, given, self._h)
        self._forces = given
        self._accelerate()

    def _accelerate(self) -> None:
        self._motion.acceleration[:, :3] = pulled(self._model, self._gravity, self._forces, self._h)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a checkpoint, which `vivace.load` makes a simulation of that goes on with the same bits.

        It has all that this simulation is: model, settings and state, as data. The file appears whole or not at all.

        Args:
            path: of the file; what is there already is replaced.
        """
        return write_checkpoint(path, "soft", self.as_data(), self.state)

    def as_data(self) -> dict[str, Any]:
        """The model and the settings, from which it can be made again, for checkpoints."""
        return {
            "model": self._grabs.plain, "solver": solver_as_data(self._solver), "budget": self._budget,
            "time_step": self._h, "substeps": self._asked_substeps, "seed": self.seed, "form": self.form,
            "guess": self.guess, "integrator": self.integrator, "trace": bool(self.trace),
        }  # fmt: skip

    def view(self, *, name: str = "simulation", browser: bool | None = None, **options: Any) -> Any:
        """Show this simulation in the browser while it runs: look, grab, change. In a notebook the page is the result.

        It runs until `stop()` of what is returned is called; from then on it is yours to step again.

        Args:
            name: what the page calls it.
            browser: whether to open one; by default unless this is a notebook.
            **options: those of `vivace.viewer.Viewer`: host, port, ...
        """
        if type(self).viewer is None:  # only this part of the package was imported
            import_module("vivace.everything")
        show = type(self).viewer
        if show is None:
            raise InputError("nothing is there to show a simulation; import vivace as a whole")
        return show(self, name=name, browser=browser, **options)

    @property
    def colouring(self) -> Colouring | None:
        """The colouring in use; None before the first step, or when the solver does not colour."""
        return self.solver.colouring


def check_substeps(value: int | str) -> int | str:
    """A number of substeps, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    if not is_whole(value) or not 1 <= int(value) <= MOST_SUBSTEPS:
        raise InputError(f'substeps must be "auto" or a whole number from 1 to {MOST_SUBSTEPS}, not {shown(value)}')
    return int(value)


def pulled(model: Model, gravity: np.ndarray, forces: np.ndarray, h: float) -> np.ndarray:
    """Accelerations (n, 3) by gravity and forces, none of which leads farther in a step than float32 has room for."""
    with np.errstate(over="ignore"):
        pushed = forces / model.masses[:, None]
        ways = [float(np.abs(a).max(initial=0.0)) * h**2 for a in (gravity, pushed)]
    for what, way, most in zip(("gravity", "forces"), ways, (FARTHEST, LARGEST), strict=True):
        if not way <= most:
            raise InputError(
                f"{what} would move a vertex by {way:.3g} m in a time step of {h:g} s; float32 positions have room for "
                f"{most:g} m: shorten the step or weaken the {what}"
            )
    pull: np.ndarray = gravity + pushed
    return pull
