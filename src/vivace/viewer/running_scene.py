"""A scene of soft bodies, the simulations of it, and the settings they run with. No threads here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, VivaceError
from ..hyperelastic.term import Hyperelastic
from ..model import Model
from ..model.fabrics import is_sheet
from ..scenes import Scene
from ..scenes.self_contact import can_touch_itself, touches_itself
from ..simulation.report import Report
from ..simulation.simulation import Simulation
from ..solvers import Budget, Solver, make_solver
from .choices import check_solver, name_of, solver_choices, with_relaxation
from .messages import RANGES, BodyKind, ColourBy, Grab, Settings
from .pointers import usual_force, usual_radius
from .running import DEFAULT_MS, Lost, shortened, within
from .running_edits import RunningEdits, as_far
from .snapshot import Backdrop, SimulationView, moved

FAR = 1e3  # times the scene's size: where a body is counted as lost, like one that is not finite
TRACED = 3  # every so many steps, the residual of each sweep is kept: the page draws no more curves than that


class RunningScene(RunningEdits):
    """A scene that runs: one simulation, or two with different solvers on the same input.

    Args:
        sim: of the scene, as it is to start.
        number: of the scene, for the page.
        before: settings of the scene before, of which those of looking are kept.
        budget_ms: instead of the simulation's own.
    """

    bodies: ClassVar[BodyKind] = "soft"
    _comparable: ClassVar[bool] = True
    fallback: ClassVar[str] = "auto"

    scene: Scene
    backdrop: Backdrop

    def __init__(
        self,
        scene: Scene,
        sim: Simulation,
        number: int = 1,
        *,
        before: Settings | None = None,
        budget_ms: float | None = None,
    ):
        force = usual_force(sim.model)
        self.scene, self.sims = scene, [sim]
        self._begin_things(sim.model, force)
        self.backdrop = Backdrop(number, scene)
        self.model = self.own_model = sim.model  # as the scene has it, and as it began
        name = name_of(sim.solver)
        self.choices, self.names = solver_choices(name), [name]
        self._able: tuple[object, list[str]] | None = None  # contacts of the model, and who can follow them
        low, high = sim.model.mesh.bounds
        self._far = float(np.abs([low, high]).max() + FAR * max(float((high - low).max()), 1e-3))
        self.start, self._creased_start = (sim.positions, sim.velocities), sim.creased()
        self._start_of_all = None if sim.bodies is None else sim.state
        self.start_seconds = sim.time
        self.time, self._steps = 0.0, 0
        if budget_ms is not None or (sim.budget.ms is None and sim.budget.iterations is None):
            sim.budget = Budget(ms=budget_ms or DEFAULT_MS)
        wind = sim.wind
        self.settings = Settings(
            solver=name,
            compare="",
            relaxation=getattr(sim.solver, "omega", None),
            budget_ms=within("budget_ms", sim.budget.ms or DEFAULT_MS),
            iterations=None,
            fabric="",
            self_contact=touches_itself(sim.model),
            stiffness=1.0,
            time_step=sim.time_step,
            gravity=float(-sim.gravity[1]),
            wind=float(np.hypot(wind[0], wind[2])),
            wind_heading=float(np.degrees(np.arctan2(-wind[2], wind[0])) % 360),
            grab_radius=usual_radius(sim.model, RANGES["grab_radius"][1]),
            hand_force=force,
            paused=False,
            colour_by=before.colour_by if before else "plain",
        )

    def step(self, spent_ms: float = 0.0) -> tuple[SimulationView, ...]:
        """A step of every simulation; Lost if one of them has no result.

        `spent_ms`: of the budget, on what people asked for before it.
        """
        views = []
        self.things.lead(self.sims[0])
        for k, sim in enumerate(self.sims):
            sim.trace = self._steps % TRACED == 0
            try:
                report = sim.step(shortened(sim.budget, spent_ms))
            except VivaceError as error:  # cannot do this, after all: contacts, say
                raise Lost(k, str(error)) from error
            except np.linalg.LinAlgError:  # of rigid bodies that were thrown too far for numbers
                raise Lost(k, f"{self.names[k]} lost the simulation") from None
            if self._is_lost(report):
                raise Lost(k, f"{self.names[k]} lost the simulation")
            views.append(self._view(k, sim, report))
        self._steps += 1
        self.time += self.settings.time_step
        self.slipped = self.pointers.slip(self.sims)
        return tuple(views)

    def _is_lost(self, report: Report) -> bool:
        return not report.finite or float(np.abs(report.positions).max()) > self._far

    def _view(self, k: int, sim: Simulation, report: Report) -> SimulationView:
        labels = None if sim.colouring is None else sim.colouring.colours
        name, held = self.names[k], self.pointers.vertices
        made = sim.solver.used, sim.frames, sim.budget.ms
        return SimulationView(
            self.things.own_bodies(report),
            name,
            *made,
            labels,
            held,
            velocities=sim.velocities,
            animated=self.backdrop.animated,
            seconds=sim.time,
            shifts=self.things.shifts,
        )

    def resume(
        self,
        positions: np.ndarray,
        velocities: np.ndarray,
        shifts: Sequence[Sequence[float]] = (),
        seconds: float | None = None,
    ) -> None:
        """Let all simulations go on from other positions and velocities, with the creases of now; nothing is held.

        `shifts`: of things; `seconds`: the simulations' time there, for what follows a path; None: as it is.
        """
        self.pointers.release_all(self.sims)
        if any(map(any, shifts)):
            self._be_taken(0)
        self.things.place(self.sims, shifts or [(0.0, 0.0, 0.0)] * len(self.things))
        for sim in self.sims:
            sim.positions, sim.velocities = positions, velocities
            sim.time = sim.time if seconds is None else seconds

    def reset(self) -> None:
        """Everything back to where it started; nothing is held."""
        self.pointers.release_all(self.sims)
        self._put_things_back()
        for sim in self.sims:
            if self._start_of_all is not None:  # frames count on, and the settings stay
                sim.state = replace(self._start_of_all, frames=sim.frames, gravity=sim.gravity, wind=sim.wind)
            else:
                sim.positions, sim.velocities = self.start
            sim.crease_like(self._creased_start)
            sim.time = self.start_seconds
        self.things.place(self.sims, [(0.0, 0.0, 0.0)] * len(self.things))
        self._pin_at_start()
        self.time = 0.0

    def _pin_at_start(self) -> None:
        """What people have pinned is held where it starts: held where it was, it would be torn away from there."""
        own = np.isin(self.model.pinned, self.own_model.pinned)
        if own.all():
            return
        start = self.start[0] if self._start_of_all is None else self._start_of_all.positions
        for sim in self.sims:
            targets = sim.targets
            targets[: len(own)][~own] = start[self.model.pinned[~own]]
            sim.targets = targets

    def grab(self, key: tuple[str, int], message: Grab) -> None:
        """A pointer takes a vertex, and what is around it, or a thing that stands."""
        target = np.array(message.target)
        if message.thing is not None:
            return self._take(key, message.thing, target)
        self._refuse_animated(message.vertex)
        self.pointers.grab(self.sims, key, message.vertex, target, self.settings.grab_radius)

    def _refuse_animated(self, vertex: int) -> None:
        if self.backdrop.animated is not None:
            self.backdrop.animated.refuse(vertex)

    # --- settings -------------------------------------------------------------------------------------------------

    def set_iterations(self, value: int) -> None:
        """Refused."""
        raise InputError(f"{self.scene.name} is made of soft bodies, whose steps have a budget of milliseconds")

    def set_hand_force(self, value: float) -> None:
        """Set what a pointer pulls with at most (N)."""
        self.pointers.use_force(self.sims, value)
        self._set(hand_force=value)

    def set_wind(self, value: float) -> None:
        """Set the speed of the wind (m/s)."""
        self._blow(value, self.settings.wind_heading)

    def set_wind_heading(self, value: float) -> None:
        """Turn the wind (degrees; 0 is +x, 90 is -z)."""
        self._blow(self.settings.wind, value)

    def _blow(self, speed: float, heading: float) -> None:
        angle = np.radians(heading)
        for sim in self.sims:
            sim.wind = (speed * np.cos(angle), 0.0, -speed * np.sin(angle))
        self._set(wind=speed, wind_heading=heading)

    def set_fabric(self, value: str) -> None:
        """Make cloth of a fabric, by its name; "" as the scene has it."""
        self._tailor(fabric=value)

    def set_self_contact(self, value: bool) -> None:
        """Let the body touch itself, or not; InputError if the solver cannot follow that."""
        self._tailor(self_contact=value)

    def set_stiffness(self, value: float) -> None:
        """Set all stiffnesses to so many times the scene's own."""
        self._tailor(stiffness=value)

    def _tailor(self, **values: Any) -> None:
        """Go on with a body made otherwise; what is wrong with it is said before anything changes."""
        model = self.made_of(self.model, replace(self.settings, **values))
        for name, sim in zip(self.names, self.sims, strict=True):
            refuse_unable(name, sim.solver, model)
        for sim in self.sims:
            sim.replace_model(model)
        self._set(**values)

    @property
    def controls(self) -> list[str]:
        """All but those that have nothing to act on."""
        model, choice = self.model, next((c for c in self.choices if c.name == self.settings.solver), None)
        surface = can_touch_itself(model)
        there = {
            "fabric": is_sheet(model),
            "self_contact": surface,
            "stiffness": True,
            "wind": surface,
            "grab_radius": True,
            "hand_force": True,
            "compare": self._comparable,
            "relaxation": choice is not None and choice.relaxation is not None,
            "colour_by": True,
            **dict.fromkeys(("solver", "budget_ms", "time_step", "gravity"), True),
        }
        return [name for name, has in there.items() if has]

    @property
    def colourings(self) -> list[ColourBy]:
        """Those that have something to show for this model and solver."""
        model, solver = self.sims[0].model, self.sims[0].solver
        there: dict[ColourBy, bool] = {
            **dict.fromkeys(("plain", "strain", "velocity", "residual"), True),
            "contact": model.collisions is not None,
            "graph": solver.colouring is not None,
            "conversion": any(isinstance(term, Hyperelastic) for term in model.terms),
        }
        return [kind for kind, has in there.items() if has or kind == self.settings.colour_by]

    @property
    def offered(self) -> list[str]:
        """Names of the solvers that can do what the scene needs, as it is made now."""
        model = self.sims[0].model
        if self._able is None or self._able[0] is not model.collisions:
            names = [choice.name for choice in self.choices if not make_solver(choice.name).why_not(model)]
            self._able = model.collisions, names
        return self._able[1]

    def set_relaxation(self, value: float) -> None:
        """Set ω of the solver, at most what it can take; InputError where it has none."""
        choice = check_solver(self.settings.solver, self.choices)
        if choice.relaxation is None or choice.most_relaxation is None:
            raise InputError(f"{choice.name} has no relaxation to set")
        value = min(value, choice.most_relaxation)
        self.use_solver(0, choice.name, make_solver(with_relaxation(choice.name, value)), value)

    # --- solvers, which take a while to make ------------------------------------------------------------------------

    def maker(self, name: str) -> Callable[[], Solver]:
        """A function for another thread that makes a solver, and has it set up and compiled for this scene."""
        check_solver(name, self.choices)
        first = self.sims[0]
        refuse_unable(name, make_solver(name), first.model)
        model, positions, h, threads, seed = first.model, first.positions, first.time_step, first.threads, first.seed
        poses, time = None if first.bodies is None else first.bodies.memory(), first.time

        def make() -> Solver:
            sim = Simulation(model, solver=name, time_step=h, threads=threads, seed=seed)
            sim.positions, sim.time = positions, time
            if sim.bodies is not None and poses is not None:
                sim.bodies.recall(poses)
            warm_bodies(sim)
            return sim.solver

        return make

    def use_solver(self, k: int, name: str, solver: Solver, omega: float | None) -> None:
        """Let simulation k go on with another solver."""
        self.sims[k].solver = solver
        self.names[k] = name
        self._set(**({"solver": name, "relaxation": omega} if k == 0 else {"compare": name}))

    def use_fallback(self, k: int) -> None:
        """Let simulation k go on with `auto`."""
        self.use_solver(k, self.fallback, make_solver(self.fallback), None)

    def compare_with(self, name: str, solver: Solver) -> None:
        """A second simulation that goes on from where the first is."""
        first = self.sims[0]
        sim = self._like(first, self.made_of(self.model, self.settings), solver)
        sim.positions, sim.velocities = first.positions, first.velocities
        sim.crease_like(first.creased())
        as_far(sim, first)
        sim.gravity, sim.wind = first.gravity, first.wind
        self.pointers.join(sim)
        self.sims[1:], self.names[1:] = [sim], [name]
        self._set(compare=name)

    def compare_no_more(self) -> None:
        """End the split view."""
        del self.sims[1:], self.names[1:]
        self._set(compare="")


def refuse_unable(name: str, solver: Solver, model: Model) -> None:
    """Raise InputError if a solver cannot do what a model needs."""
    why = solver.why_not(model)
    if why:
        raise InputError(f"{name} cannot go on with this scene: {why}; choose another solver, auto for one")


def posed(view: SimulationView, sim: Simulation) -> SimulationView:
    """A view of soft bodies as they are now, between two steps."""
    if view.mesh is not None:
        return view
    held = view.held if len(view.report.positions) == sim.model.n else ()
    return replace(moved(view, sim.positions, sim.time), held=held)


def warm_bodies(sim: Simulation) -> None:
    """Compile and set up all that a step needs, with and without a trace of its residuals."""
    sim.prepare(wait=True)
    for sim.trace in (False, True):
        sim.step(Budget(iterations=2))
