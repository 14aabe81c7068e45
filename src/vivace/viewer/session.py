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
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ..errors import VivaceError
from ..scenes import RigidScene, Scene
from . import messages as m
from .actions import ACTIONS, Action
from .background_worker import BackgroundWorker
from .choices import Target, name_of, resolution_of
from .edit_text import text_of
from .ghost import Ghost
from .history import History
from .input_log import InputLog
from .priority import Preference
from .recordings import Recording
from .running import Lost, Running
from .running_scene import RunningScene, posed
from .snapshot import SimulationView, Snapshot, still
from .starting import budget_of, run_scene

T = TypeVar("T")

SWITCH_S = 0.0005  # how long another Python thread may keep the interpreter while the physics thread wants it
LATE = 3  # steps that may be made up for before time is let go
SOON = 60  # steps: a solver that loses the simulation again so soon is replaced
HEAVY = (m.Pin, m.PinBy, m.Cut, m.History, m.Replay, m.Restore, m.RestorePart)  # may take longer than a frame
MOST_HEAVY = 200  # of them that wait: the pins of a box in 100,000 vertices
TOLD = 10  # recorded frames between two messages about their number
SLIPPED = "It slipped out of your hand, which pulls with at most {:g} N, before it would have torn."
FIRST_STEP = "getting ready; the first time, kernels are compiled"


class Session:
    """A scene that runs, for any number of people to look at and pull at.

    Args:
        target: where the scene comes from.
        scene: the scene itself, where it is there already.
        sim: a simulation to show as it is, instead of a new one of the scene.
        gallery: whether nobody chose the scene, so that pages begin with a choice.
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
        gallery: bool = False,
    ):
        self.target = self.current = target
        self.gallery = gallery
        self.uploaded: Target | None = None  # the mesh that somebody sent last
        self.making: dict[str, Any] = {"threads": threads, "seed": seed}
        self.given = sim  # somebody's own simulation
        scene = target.load() if scene is None else scene
        if sim is None:
            sim = scene.simulate(solver=solver, **self.making)
            budget_ms = budget_ms or budget_of(scene)
        self.own = scene.name  # by which the page can come back to it
        self.running_scene: Running[Any] = run_scene(scene, sim, budget_ms=budget_ms)
        self.newest: Snapshot | None = None
        self.notify: Callable[[], None] = lambda: None  # called from the physics thread when there is a new snapshot
        self.send: Callable[[m.ToPage, str | None], None] = lambda message, client: None  # to a client; None: to all
        self.input = InputLog(target, name_of(sim.solver), seed)  # what people have done since the scene began
        self.recording = Recording()
        self.history = History()
        self.ghost = Ghost(self)
        self.replay: int | None = None  # the frame of the recording that is shown instead of the simulation
        self._shown: tuple[tuple[SimulationView, ...], float] | None = None  # of the last step
        self.parts: dict[str, str] = {}  # of links, by client
        self._edited = m.Edited("")
        self._edited_as: tuple[Any, m.Edited] | None = None
        self.watchers = 0  # clients; without any the simulation waits
        self._commands: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._background = BackgroundWorker(self._commands.put, self.changed)
        self._orders: dict[str, int] = {}
        self._room = threading.BoundedSemaphore(MOST_HEAVY)
        self._published = 0
        self.single_steps = 0  # to be made although it is paused
        self._speed, self._last_ns, self._lost_at = 1.0, time.perf_counter_ns(), -SOON
        self._spent_ns = 0  # of commands since the last step
        self._around_ms = 0.0  # what a step takes beside the simulations' own
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="vivace-physics", daemon=True)

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
        self.ghost.end()
        self.running_scene.pointers.release_all(self.sims)

    def tell(self, client: str, message: m.FromPage) -> None:
        """Something that a client says; it is done before the next step."""
        action = ACTIONS.get(type(message))
        if action is None:
            return
        if not isinstance(message, HEAVY) or self._room.acquire(blocking=False):
            self._commands.put(lambda: self._obey(client, action, message))
        else:
            self.send(m.Notice("error", "too many changes at once; some were left out"), client)

    def leave(self, client: str) -> None:
        """A client has gone; what it held falls."""

        def go() -> None:
            self.input.heard(client, None)
            self.running_scene.pointers.release_client(self.sims, client)
            self._orders.pop(client, None)
            self.parts.pop(client, None)

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
        resolution = resolution_of(self.current, "fabric" in running.controls)
        kinds = self.scene.settings.get("kind", ""), self.scene.settings.get("kinds", [])
        fits = running.controls, running.offered, running.colourings, resolution, *kinds
        pins, undo, redo = running.pins, self.history.undo_label, self.history.redo_label
        said = self.scene.name, running.bodies, self.settings, *fits, busy, *recorded
        return m.State(*said, pins, undo, redo, self.replay)

    # --- the thread -----------------------------------------------------------------------------------------------

    @property
    def _resting(self) -> bool:
        """Paused, or showing a recording, or nobody looks on."""
        paused = (self.settings.paused and not self.single_steps) or self.replay is not None
        return paused or not (self.watchers or self.recording.active)

    def _live(self) -> None:
        due, preference = time.perf_counter(), Preference()
        while not self._stop.is_set():
            resting = self._resting
            self._attend(None if resting else due)
            if resting:
                due = time.perf_counter()  # the time that passed meanwhile is not made up for
            elif not self._resting and not self._stop.is_set():
                self.single_steps = max(0, self.single_steps - 1)
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

    def _obey(self, client: str, action: Action, message: m.FromPage) -> None:
        if isinstance(message, HEAVY):
            self._room.release()
        self.input.heard(client, message)
        try:
            action(self, client, message)
        except VivaceError as error:
            self.send(m.Notice("error", str(error)), client)

    def _advance(self) -> None:
        """A step, and the snapshot of it."""
        begin = time.perf_counter_ns()
        try:
            views = self.running_scene.step(self._spent_ns / 1e6 + self._around_ms)
        except Lost as lost:
            return self._recover(lost)
        self.input.stepped(self.settings, views[0].report, self.sims[0].budget)
        now, h = time.perf_counter_ns(), self.settings.time_step
        around_ms = (now - begin) / 1e6 - sum(view.report.ms for view in views)
        self._around_ms = max(around_ms, 0.95 * self._around_ms)  # a reserve: the largest of late
        self._speed += 0.1 * (min(1e9 * h / max(now - self._last_ns, 1), 2.0) - self._speed)
        self._last_ns = now
        if self.recording.active:
            self._record_frame(views[0])
        self._shown = views, (now - begin + self._spent_ns) / 1e6
        shown, ghost = self.ghost.follow(views)
        self._publish(shown, self._shown[1], **ghost)
        for client, pointer in self.running_scene.slipped:
            self.send(m.Slipped(pointer, SLIPPED.format(self.settings.hand_force)), client)
        self._spent_ns = 0
        return None

    def _publish(self, views: tuple[SimulationView, ...], ms: float, **others: Any) -> None:
        self._published += 1
        now, orders = self.running_scene, dict(self._orders)
        fresh = Snapshot(self._published, now.backdrop, now.time, self._speed, now.settings, orders, views, ms)
        self.newest = replace(fresh, **others) if others else fresh
        self.notify()
        if self._published == 1:
            self.changed()  # no longer getting ready

    def publish_again(self) -> None:
        """While paused, a change of the picture is seen without a step."""
        newest = self.newest
        if self.replay is not None:
            self.show_recorded()
        elif newest is not None and self.settings.paused and newest.backdrop is self.running_scene.backdrop:
            self._publish(newest.views, newest.ms)

    def show_edit(self) -> None:
        """Show a changed model, while paused too, and say to everybody that it has changed."""
        self.replay = None
        self._show_simulation()
        self.changed()

    def show_recorded(self) -> None:
        """Show the frame of the recording that `replay` says, or the simulation again."""
        if self.replay is None:
            self._show_simulation()
        else:
            view, backdrop, seconds = self.recording.view(self.replay)
            self._publish((view,), 0.0, backdrop=backdrop, time=seconds, settings=still(self.settings))

    def _show_simulation(self) -> None:
        """The simulations as they are now, between two steps."""
        if self._shown is None:
            return
        views, ms = self._shown
        if isinstance(self.running_scene, RunningScene):
            views = tuple(posed(view, sim) for view, sim in zip(views, self.sims, strict=False))
        self._shown = views, ms
        self._publish(views, ms, settings=still(self.settings))

    def _record_frame(self, view: SimulationView) -> None:
        self.recording.add_view(view, self.running_scene.backdrop, self.settings.time_step)
        if self.recording.full:
            self.send(m.Notice("info", "the recording is full; it was ended and can be saved"), None)
        if not self.recording.active or self.recording.frames % TOLD == 0:
            self.changed()

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
        self.changed()

    def changed(self) -> None:
        """Say so to everybody."""
        self.send(self.state, None)
        said, self._edited = self._edited, self.edited
        if said != self._edited:
            self.send(self._edited, None)

    @property
    def edited(self) -> m.Edited:
        """The pins and cuts that there are, for links."""
        running = self.running_scene
        if self._edited_as is None or self._edited_as[0] is not running.backdrop:
            self._edited_as = running.backdrop, m.Edited(text_of(running.edits))
        return self._edited_as[1]

    # --- for actions ----------------------------------------------------------------------------------------------

    def is_new(self, client: str, order: int) -> bool:
        """Whether a pull comes after all that were obeyed; remembers it."""
        if order <= self._orders.get(client, -1):
            return False
        self._orders[client] = order
        return True

    def if_still(self, running: Running[Any], what: Callable[[], None]) -> None:
        """Do something to a running scene that may have been replaced meanwhile."""
        if self.running_scene is running:
            what()
            self.changed()

    def begin(self, scene: Scene | RigidScene, sim: Any, target: Target) -> None:
        """Go on with another scene; what is held falls."""
        old, self.current = self.running_scene, target
        self.input = InputLog(target, name_of(sim.solver), self.making["seed"])
        old.pointers.release_all(old.sims)
        self.recording.end()
        self.history.clear()
        self.replay, self._shown = None, None
        number, budget = old.backdrop.number + 1, budget_of(scene)
        self.running_scene = run_scene(scene, sim, number, before=old.settings, budget_ms=budget)
        self.changed()

    def go_on_with(self, running: Running[Any]) -> None:
        """Go on with the same simulation under another running scene, of more bodies or of fewer."""
        self.recording.end()
        self.history.clear()
        self.replay, self._shown = None, None
        self.running_scene = running
        self.single_steps = 1  # so that it is seen, paused or not
        self.changed()

    def prepare(self, label: str, work: Callable[[], Callable[[], None]], client: str | None) -> None:
        """Let the background worker make something; what `work` returns is done in the physics thread."""

        def failed(error: Exception) -> None:
            text = str(error) if isinstance(error, VivaceError) else f"{label} failed; the terminal says more"
            self.send(m.Notice("error", text), client)

        self._background.submit(label, self.input.numbered(work), failed)
