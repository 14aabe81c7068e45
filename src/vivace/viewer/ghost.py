"""A ghost: how the body would have moved if every step had been solved to the end, beside how it did move.

    page: ghost on ──► physics thread: the state now, and then what the live steps make of it
                       thread of low priority: the same seconds by so many rounds that more change little
    both are there ──► the two are shown together, again and again, with the distance between them

The live simulation goes on meanwhile and waits for nothing: the thread takes one core at the lowest priority and gives
the interpreter back while it solves. What people do to the body ends the watching; the ghost knows nothing of it.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from ..errors import InputError, VivaceError
from ..simulation.simulation import Simulation
from ..solvers import Budget
from . import messages as m
from .body_mesh import bodies_of
from .running import Running
from .running_scene import RunningScene
from .snapshot import GhostFrame, SimulationView, moved

SECONDS = 2.0  # simulated, that are compared
FEWEST = 5  # frames: of less nothing can be seen
MOST_BYTES = 256 << 20  # of both motions together
# A hanging cloth of 144 vertices, twelve steps of eight substeps: ten iterations in each are 0.2 mm from the converged
# motion, and as many of lattice(multigrid) 39 mm, sixty 5 mm. Where it touches something no number is enough: a cloth
# of 900 vertices that falls on a table is after twenty steps 5 cm (ten), 4 cm (sixty), 2.5 cm (240) from what 400 make.
SOLVER, EACH = "newton-multigrid", 60  # iterations of a substep
NICE = 19
TOLD_S = 0.25  # between two words about how far it is


class Haunted(Protocol):
    """What a ghost sees of its session."""

    running_scene: Running[Any]
    send: Callable[[m.ToPage, str | None], None]


class Ghost:
    """Of a session. All but `_work` runs in the physics thread."""

    def __init__(self, session: Haunted):
        self._session = session
        self._run: _Run | None = None

    @property
    def on(self) -> bool:
        """Whether there is one, or will be."""
        return self._run is not None

    def begin(self) -> None:
        """Compare from now on; InputError where that cannot be."""
        running = self._session.running_scene
        if not isinstance(running, RunningScene) or bodies_of(running.scene):
            raise InputError(f"a ghost is made of soft bodies alone, and {running.scene.name} has rigid ones")
        if running.things.taken:
            raise InputError("a ghost would not know what was moved by hand; start the scene again first")
        if running.pointers.vertices:
            raise InputError("let go first: the ghost would not know what you pull at")
        self.end()
        sim = running.sims[0]
        frames = min(round(SECONDS / sim.time_step), MOST_BYTES // (24 * sim.model.n))
        if frames < FEWEST:
            raise InputError(f"{sim.model.n:,} vertices are too many for a ghost: its motion is kept in memory")
        self._run = _Run(running, sim, frames, self._session.send)

    def end(self) -> None:
        """Show the simulation as it is again."""
        if self._run is not None:
            self._run.cancelled.set()
            self._run = None
            self._session.send(m.GhostState("off", "", 0, 0, []), None)

    def follow(self, views: tuple[SimulationView, ...]) -> tuple[tuple[SimulationView, ...], dict[str, Any]]:
        """What is shown after a step, and what a snapshot has besides: the step itself, or the two motions."""
        run = self._run
        if run is None:
            return views, {}
        if run.trouble:
            self.end()
            self._session.send(m.Notice("error", run.trouble), None)
            return views, {}
        if not run.is_of(self._session.running_scene):
            self.end()
            return views, {}
        if run.showing and views[0].held:
            self.end()  # what is seen is not what would be pulled at
            return views, {}
        return run.follow(views)


class _Run:
    """One comparison."""

    def __init__(self, running: RunningScene, sim: Simulation, frames: int, send: Callable[..., None]):
        self._running, self._sim, self._model, self._settings = running, sim, sim.model, running.settings
        self._backdrop, self._send, self._h = running.backdrop, send, sim.time_step
        self._live, self._wanted, self._watching = [sim.positions.copy()], frames, True
        self._begun = sim.time
        self._made: list[np.ndarray] = []
        self._distances: list[tuple[float, float]] = []
        self._k, self.showing, self.trouble = 0, False, ""
        self.cancelled, self._done = threading.Event(), threading.Event()
        make = _reference(sim)
        self._tell("watching", 0, frames)
        self._thread = threading.Thread(target=self._work, args=(make,), name="vivace-ghost", daemon=True)
        self._thread.start()

    def is_of(self, running: Running[Any]) -> bool:
        """Whether the scene and its body are still those that it was begun with."""
        return running is self._running and running.backdrop is self._backdrop and not self._running.things.taken

    def follow(self, views: tuple[SimulationView, ...]) -> tuple[tuple[SimulationView, ...], dict[str, Any]]:
        """See `Ghost.follow`."""
        if self._watching:
            self._watch(views[0])
        if not self.showing and self._done.is_set() and not self._watching:
            self._compare()
        if not self.showing:
            return views, {}
        k, self._k = self._k, (self._k + 1) % len(self._distances)
        rms, largest = self._distances[k]
        ghost = GhostFrame(k, len(self._distances), k * self._h, self._made[k], rms, largest)
        return (moved(views[0], self._live[k], self._begun + k * self._h),), {"ghost": ghost}

    def _watch(self, view: SimulationView) -> None:
        """Keep a live frame, as long as nobody has done anything."""
        running, sim = self._running, self._running.sims[0]
        same = sim is self._sim and sim.model is self._model and running.settings == self._settings
        if same and not view.held and len(self._live) <= self._wanted:
            self._live.append(view.report.positions.copy())
        else:
            self._watching = False
        if len(self._live) > self._wanted:
            self._watching = False
        if not self._watching and len(self._live) < FEWEST:
            self.trouble = "the ghost was given up: something was changed before there was a motion to compare with"
        self._wanted = min(self._wanted, len(self._live) - 1) if not self._watching else self._wanted

    def _compare(self) -> None:
        frames = min(len(self._live), len(self._made))
        for live, made in zip(self._live[:frames], self._made[:frames], strict=True):
            apart = np.linalg.norm(live.astype(np.float64) - made, axis=1)
            self._distances.append((float(np.sqrt(np.mean(apart**2))), float(apart.max())))
        self.showing = True
        self._tell("showing", frames - 1, frames - 1)

    def _tell(self, phase: m.GhostPhase, done: int, total: int) -> None:
        every = max(1, len(self._distances) // 40)
        table = [[k * self._h, *distance] for k, distance in enumerate(self._distances)][::every]
        text = f"by {self._solver_words()}" if phase != "off" else ""
        self._send(m.GhostState(phase, text, done, total, table), None)

    def _solver_words(self) -> str:
        solver, rounds = _rounds(self._sim)
        return f"{solver}, {rounds} iterations a step"

    # --- the thread of low priority ----------------------------------------------------------------------------------

    def _work(self, make: Callable[[], Simulation]) -> None:
        with suppress(OSError, AttributeError):  # of this thread alone, on Linux
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            sim, told = make(), 0.0
            self._made.append(sim.positions.copy())
            while len(self._made) <= self._wanted and not self.cancelled.is_set():
                sim.step()
                self._made.append(sim.positions.copy())
                if time.monotonic() - told > TOLD_S and not self.cancelled.is_set():
                    told = time.monotonic()
                    self._tell("computing", len(self._made) - 1, self._wanted)
        except VivaceError as error:
            self.trouble = f"there is no ghost: {error}"
        except Exception:
            traceback.print_exc()
            self.trouble = "the ghost could not be computed; the terminal says more"
        self._done.set()


def _rounds(sim: Simulation) -> tuple[str, int]:
    """The solver of the ghost, and its iterations in a step."""
    return SOLVER, sim.substeps * EACH


def _reference(sim: Simulation) -> Callable[[], Simulation]:
    """A function for another thread: a simulation that goes on from here with every step solved to the end."""
    solver, iterations = _rounds(sim)
    model, positions, velocities = sim.model, sim.positions.copy(), sim.velocities.copy()
    creased = sim.creased()
    gravity, wind, begun = np.array(sim.gravity), np.array(sim.wind), sim.time
    options: dict[str, Any] = {
        "time_step": sim.time_step,
        "substeps": sim.substeps,
        "guess": sim.guess,
        "integrator": sim.integrator,
        "seed": sim.seed,
    }

    def make() -> Simulation:
        ghost = Simulation(model, solver=solver, budget=Budget(iterations=iterations), threads=1, **options)
        ghost.positions, ghost.velocities = positions, velocities
        ghost.crease_like(creased)
        ghost.gravity, ghost.wind, ghost.time = gravity, wind, begun
        return ghost

    return make
