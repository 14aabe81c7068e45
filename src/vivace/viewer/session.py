"""The physics thread: a scene that runs, and what people do to it.

    page ──► server ──► tell() ──► queue ──► ┌─ physics thread ───────────────────────────┐
                                             │ changes, then a step of each simulation,    │
    page ◄── server ◄── newest ◄─────────────│ then the snapshot is published; at 1/h Hz   │
                                             └───────────▲─────────────────────────────────┘
                                                         │ a solver or scene that is ready to use
                                             ┌─ background thread ───────┐
                                             │ loads, colours, compiles  │
                                             └───────────────────────────┘

Nothing outside the physics thread touches a simulation, and the physics thread waits for nobody: a snapshot that no
client had time for is dropped when the next one is there. What takes longer than a frame (another scene, a solver that
has to be compiled) is made ready in the background while the steps go on.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import fields
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError, VivaceError
from ..scenes import SCENES, RigidScene, Scene
from . import messages as m
from .background_worker import BackgroundWorker
from .choices import Target, check_solver
from .priority import Preference
from .recordings import Recording, frame_of
from .running import Lost, Running
from .snapshot import SimulationView, Snapshot
from .starting import budget_of, run_scene, warm

T = TypeVar("T")

SWITCH_S = 0.0005  # how long another Python thread may keep the interpreter while the physics thread wants it
LATE = 3  # steps that may be made up for before time is let go
SOON = 60  # steps: a solver that loses the simulation again so soon is replaced
TOLD = 10  # recorded frames between two messages about their number
FIRST_STEP = "getting ready; the first time, kernels are compiled"
MOST_STEPS = 60  # single steps that may wait


class Session:
    """A scene that runs, for any number of people to look at and pull at.

    Args:
        target: where the scene comes from.
        scene: the scene itself, where it is there already.
        sim: a simulation to show as it is, instead of a new one of the scene.
    """

    def __init__(
        self,
        target: Target,
        *,
        scene: Scene | RigidScene | None = None,
        sim: Any = None,
        solver: str | None = None,
        budget_ms: float | None = None,
        threads: int | None = None,
        seed: int = 0,
    ):
        self.target = target
        self._making: dict[str, Any] = {"threads": threads, "seed": seed}
        self._given = sim  # somebody's own simulation
        scene = target.load() if scene is None else scene
        if sim is None:
            sim = scene.simulate(solver=solver, **self._making)
            budget_ms = budget_ms or budget_of(scene)
        self.own = scene.name  # by which the page can come back to it
        self.running_scene: Running[Any] = run_scene(scene, sim, budget_ms=budget_ms)
        self.newest: Snapshot | None = None
        self.notify: Callable[[], None] = lambda: None  # called from the physics thread when there is a new snapshot
        self.send: Callable[[m.ToPage, str | None], None] = lambda message, client: None  # to a client; None: to all
        self.recording = Recording()
        self.watchers = 0  # clients; without any the simulation waits
        self._commands: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._background = BackgroundWorker(self._commands.put, self._changed)
        self._orders: dict[str, int] = {}
        self._published = self._single_steps = 0
        self._speed, self._last_ns, self._lost_at = 1.0, time.perf_counter_ns(), -SOON
        self._spent_ns = 0  # of commands since the last step
        self._around_ms = 0.0  # what a step takes beside the simulations' own
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="vivace-physics", daemon=True)
        self._handlers: dict[type, Callable[[str, Any], None]] = {
            m.Grab: self._grab,
            m.Drag: self._drag,
            m.Release: self._release,
            m.Change: self._change,
            m.Run: self._run,
            m.LoadScene: self._load_scene,
            m.SetRecording: self._record,
        }

    # --- from any thread ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the physics thread."""
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch, SWITCH_S))
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the simulation stays as it is, with nothing held."""
        self._stop.set()
        self.call(lambda: None)
        if self._thread.is_alive():
            self._thread.join(timeout=10)
            sys.setswitchinterval(self._switch)
        self._background.stop()
        self.running_scene.pointers.release_all(self.sims)

    def tell(self, client: str, message: m.FromPage) -> None:
        """Something that a client says; it is done before the next step."""
        handler = self._handlers.get(type(message))
        if handler is not None:
            self._commands.put(lambda: self._obey(client, handler, message))

    def leave(self, client: str) -> None:
        """A client has gone; what it held falls."""

        def go() -> None:
            self.running_scene.pointers.release_client(self.sims, client)
            self._orders.pop(client, None)

        self._commands.put(go)

    def call(self, what: Callable[[], None]) -> None:
        """Let the physics thread do something between two steps."""
        self._commands.put(what)

    def ask(self, what: Callable[[], T]) -> Future[T]:
        """Let the physics thread find something out between two steps, after all that was said before."""
        answer: Future[T] = Future()

        def find() -> None:
            try:
                answer.set_result(what())
            except Exception as error:
                answer.set_exception(error)

        self._commands.put(find)
        return answer

    @property
    def scene(self) -> Scene | RigidScene:
        """The scene that runs."""
        return self.running_scene.scene

    @property
    def sims(self) -> list[Any]:
        """Its simulation, and in a split view the other."""
        return self.running_scene.sims

    @property
    def settings(self) -> m.Settings:
        """What it runs with now."""
        return self.running_scene.settings

    @property
    def state(self) -> m.State:
        """What pages show besides the frames."""
        recording, running = self.recording, self.running_scene
        busy = self._background.busy or (FIRST_STEP if self.newest is None else "")
        recorded = recording.active, recording.frames, recording.seconds
        return m.State(self.scene.name, running.bodies, self.settings, busy, *recorded)

    # --- the thread -----------------------------------------------------------------------------------------------

    @property
    def _resting(self) -> bool:
        """Paused, or nobody looks on."""
        paused = self.settings.paused and not self._single_steps
        return paused or not (self.watchers or self.recording.active)

    def _live(self) -> None:
        due, preference = time.perf_counter(), Preference()
        while not self._stop.is_set():
            resting = self._resting
            self._attend(None if resting else due)
            if resting:
                due = time.perf_counter()  # the time that passed meanwhile is not made up for
            elif not self._resting and not self._stop.is_set():
                self._single_steps = max(0, self._single_steps - 1)
                begin = time.perf_counter()
                self._advance()
                now, h = time.perf_counter(), self.settings.time_step
                due = max(due + h, now - LATE * h)
                preference.update((now - begin) / h)
        preference.end()

    def _attend(self, until: float | None) -> None:
        """Do what was asked for, until the next step is due (None: until something is asked for)."""
        while True:
            wait = None if until is None else until - time.perf_counter()
            try:
                command = self._commands.get(timeout=wait) if wait is None or wait > 0 else self._commands.get_nowait()
            except Empty:
                return
            begin = time.perf_counter_ns()
            try:
                command()
            except Exception:  # whatever it is, the thread goes on
                traceback.print_exc()
            self._spent_ns += time.perf_counter_ns() - begin
            if until is None:
                return

    def _obey(self, client: str, handler: Callable[[str, Any], None], message: m.FromPage) -> None:
        try:
            handler(client, message)
        except VivaceError as error:
            self.send(m.Notice("error", str(error)), client)

    def _advance(self) -> None:
        """A step, and the snapshot of it."""
        begin = time.perf_counter_ns()
        try:
            views = self.running_scene.step(self._spent_ns / 1e6 + self._around_ms)
        except Lost as lost:
            return self._recover(lost)
        now, h = time.perf_counter_ns(), self.settings.time_step
        around_ms = (now - begin) / 1e6 - sum(view.report.ms for view in views)
        self._around_ms = max(around_ms, 0.95 * self._around_ms)  # a reserve: the largest of late
        self._speed += 0.1 * (min(1e9 * h / max(now - self._last_ns, 1), 2.0) - self._speed)
        self._last_ns = now
        if self.recording.active:
            self._record_frame(views[0])
        self._publish(views, (now - begin + self._spent_ns) / 1e6)
        self._spent_ns = 0
        return None

    def _publish(self, views: tuple[SimulationView, ...], ms: float) -> None:
        self._published += 1
        now, orders = self.running_scene, dict(self._orders)
        self.newest = Snapshot(self._published, now.backdrop, now.time, self._speed, now.settings, orders, views, ms)
        self.notify()
        if self._published == 1:
            self._changed()  # no longer getting ready

    def _publish_again(self) -> None:
        """While paused, a change of the picture is seen without a step."""
        newest = self.newest
        if newest is not None and self.settings.paused and newest.backdrop is self.running_scene.backdrop:
            self._publish(newest.views, newest.ms)

    def _record_frame(self, view: SimulationView) -> None:
        self.recording.add(frame_of(view.report), self.settings.time_step)
        if self.recording.full:
            self.send(m.Notice("info", "the recording is full; it was ended and can be saved"), None)
        if not self.recording.active or self.recording.frames % TOLD == 0:
            self._changed()

    def _recover(self, lost: Lost) -> None:
        """Start anew; with the scene's fallback, if that helps; and paused, if not even that can go on."""
        running, name = self.running_scene, self.running_scene.names[lost.k]
        frames = running.sims[lost.k].frames
        again, self._lost_at = frames - self._lost_at < SOON, frames
        refused = isinstance(lost.__cause__, VivaceError)
        if not refused:
            running.reset()
        if not (again or refused):
            text = f"{lost}; it was started again"
        elif name != running.fallback:
            running.use_fallback(lost.k)
            text = f"{lost}; {running.fallback} goes on"
        else:
            running.set_paused(True)
            text = f"{lost}; paused"
        self.send(m.Notice("error", text), None)
        self._changed()

    def _changed(self) -> None:
        """Say so to everybody."""
        self.send(self.state, None)

    # --- what clients ask for -------------------------------------------------------------------------------------

    def _is_new(self, client: str, order: int) -> bool:
        """Whether a pull comes after all that were obeyed; remembers it."""
        if order <= self._orders.get(client, -1):
            return False
        self._orders[client] = order
        return True

    def _grab(self, client: str, message: m.Grab) -> None:
        running = self.running_scene
        if message.scene == running.backdrop.number and self._is_new(client, message.order):
            running.grab((client, message.pointer), message)

    def _drag(self, client: str, message: m.Drag) -> None:
        if self._is_new(client, message.order):
            self.running_scene.pointers.drag(self.sims, (client, message.pointer), np.array(message.target))

    def _release(self, client: str, message: m.Release) -> None:
        if self._is_new(client, message.order):
            self.running_scene.pointers.release(self.sims, (client, message.pointer))

    def _run(self, client: str, message: m.Run) -> None:
        if message.what == "reset":
            self.running_scene.reset()
            self._single_steps = int(self.settings.paused)  # so that it is seen
        elif self.settings.paused:
            self._single_steps = min(self._single_steps + 1, MOST_STEPS)

    def _record(self, client: str, message: m.SetRecording) -> None:
        if message.on:
            self.recording.begin(self.scene, self.settings, self.sims[0])
        else:
            self.recording.end()
        self._changed()

    def _change(self, client: str, message: m.Change) -> None:
        for item in fields(message):
            value = getattr(message, item.name)
            if value is None:
                continue
            if item.name == "solver":
                self._change_solver(value, client)
            elif item.name == "compare":
                self._compare(value, client)
            else:
                getattr(self.running_scene, f"set_{item.name}")(value)
        if message.paused is not None:
            self._single_steps = 0
        self._publish_again()
        self._changed()

    def _change_solver(self, name: str, client: str) -> None:
        running, omega = self.running_scene, check_solver(name, self.running_scene.choices).relaxation
        make = running.maker(name)

        def work() -> Callable[[], None]:
            solver = make()
            return lambda: self._if_still(running, lambda: running.use_solver(0, name, solver, omega))

        self._prepare(f"preparing {name}", work, client)

    def _compare(self, name: str, client: str) -> None:
        running = self.running_scene
        if not name:
            return running.compare_no_more()
        running.check_comparable()
        make = running.maker(name)

        def work() -> Callable[[], None]:
            solver = make()
            return lambda: self._if_still(running, lambda: running.compare_with(name, solver))

        return self._prepare(f"preparing {name}", work, client)

    def _if_still(self, running: Running[Any], what: Callable[[], None]) -> None:
        """Do something to a running scene that may have been replaced meanwhile."""
        if self.running_scene is running:
            what()
            self._changed()

    def _load_scene(self, client: str, message: m.LoadScene) -> None:
        """By name only: nothing that comes from a page is opened as a file."""
        if message.name != self.own:
            SCENES[message.name]  # or says what there is
        elif self._given is not None:
            raise InputError(f"{self.own} was made in Python and cannot be loaded again; reset it instead")
        target = self.target if message.name == self.own else Target(message.name, {})

        def work() -> Callable[[], None]:
            scene = target.load()
            sim: Any = scene.simulate(**self._making)
            warm(sim)
            return lambda: self._begin(scene, scene.simulate(solver=sim.solver, **self._making))

        self._prepare(f"loading {message.name}", work, client)

    def _begin(self, scene: Scene | RigidScene, sim: Any) -> None:
        """Another scene; what is held falls."""
        old = self.running_scene
        old.pointers.release_all(old.sims)
        self.recording.end()
        number, budget = old.backdrop.number + 1, budget_of(scene)
        self.running_scene = run_scene(scene, sim, number, before=old.settings, budget_ms=budget)
        self._changed()

    def _prepare(self, label: str, work: Callable[[], Callable[[], None]], client: str) -> None:
        """Let the background worker make something; what `work` returns is done in this thread."""

        def failed(error: Exception) -> None:
            text = str(error) if isinstance(error, VivaceError) else f"{label} failed; the terminal says more"
            self.send(m.Notice("error", text), client)

        self._background.submit(label, work, failed)
