"""A log of input, done again: the same scene, the same messages before the same steps, and no clock anywhere.

A session that no thread runs. What takes a while to prepare is prepared at once, and used where the log says that it
was ready. Steps have as many sweeps as they had, so that a budget of milliseconds does not make two replays differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from ..errors import FileError, InputError, VivaceError
from ..scenes import RigidScene
from ..solvers import Budget
from . import messages as m
from .actions import ACTIONS
from .actions.loading import KEPT
from .choices import Target
from .input_log import Event, ReadInput
from .recordings import Recording
from .session import Session

SOLVING = ("solver", "compare", "relaxation")
BUDGETS = ("budget_ms", "iterations")
LOOKING = ("paused", "colour_by")


class Replay(Session):
    """A scene and what people did to it.

    Args:
        log: that was read.
        target: the scene, instead of the log's own.
        solver: for all frames, instead of those that people chose.
        budget: of every frame, instead of as many sweeps as it had.
        threads: of the simulation.
    """

    def __init__(
        self,
        log: ReadInput,
        *,
        target: Target | None = None,
        solver: str | None = None,
        budget: Budget | None = None,
        threads: int | None = None,
    ):
        if target is None and not log.named:
            raise InputError(f"the log is of the file {log.scene}, which logs do not have: say where it is, by --scene")
        chosen = target or Target(log.scene, log.parameters)
        super().__init__(chosen, solver=solver or log.solver, threads=threads, seed=log.seed)
        self.log, self._fixed, self._limit = log, solver is not None, budget
        self._waiting: list[Callable[[], None]] = []  # what was prepared, by number
        self.notes: list[str] = []
        self.send = self._note
        self._take(log.settings)

    def frames(self, most: int | None = None, *, begin: int = 0) -> Iterator[Recording]:
        """Make all steps, or the first so many; after each the recording, which begins with frame `begin`."""
        events, total = iter(self.log.events), self.log.frames if most is None else min(most, self.log.frames)
        rounds, number = _each(self.log.rounds), -1
        event, ended = next(events, None), False
        for number in range(total):
            while event is not None and event.frame <= number:
                self._do(event)
                event = next(events, None)
            if number == begin:
                self.recording.begin(self.scene, self.settings, self.sims[0])
            self._limited(next(rounds, None))
            before = self.recording.frames
            self._advance()
            if number > begin and self.recording.frames == before and not ended:
                ended = True
                self.notes.append(f"the film ends with frame {number}: the body is another after that")
            yield self.recording
        if number < 0:
            raise InputError("the log has no frames")

    def _limited(self, rounds: tuple[int, int] | None) -> None:
        """Give the next step the budget that is asked for, or as many sweeps as it had."""
        sims = [sim for sim in self.sims if not isinstance(self.scene, RigidScene)]
        for sim in self.sims:
            if self._limit is not None:
                sim.budget = self._limit
        if self._limit is None and rounds is not None:
            for sim in sims:
                if sim.substeps != rounds[1]:
                    sim.substeps = rounds[1]
                sim.budget = Budget(iterations=rounds[0])

    def _do(self, event: Event) -> None:
        if event.applied is not None:
            if event.applied < len(self._waiting):
                self._waiting[event.applied]()
            return
        if event.message is None:
            self.running_scene.pointers.release_client(self.sims, event.client)
            return
        message = self._meant(event.message)
        action = ACTIONS.get(type(message))
        if action is not None and message is not None:
            try:
                action(self, event.client, message)
            except FileError:
                raise
            except VivaceError as error:  # as when it was said
                self.notes.append(str(error))

    def _meant(self, message: m.FromPage) -> m.FromPage | None:
        """A message without what is decided otherwise here."""
        if isinstance(message, m.SetRecording):
            return None
        if isinstance(message, m.Replay):
            raise FileError("the log goes on from a recorded frame, which logs do not have: cut it there")
        if isinstance(message, m.Change):
            return self._without(message)
        if isinstance(message, m.Restore):
            return replace(message, settings=self._without(message.settings))
        return message

    def _without(self, change: m.Change) -> m.Change:
        budgets = () if self._own_budgets else BUDGETS
        left_out = (*LOOKING, *budgets, *(SOLVING if self._fixed else ("compare",)))
        return replace(change, **dict.fromkeys(left_out))

    @property
    def _own_budgets(self) -> bool:
        """Whether steps have the budgets that people chose: iterations of rigid bodies are of a substep, and known."""
        return isinstance(self.scene, RigidScene) and self._limit is None

    def _take(self, settings: m.Change) -> None:
        """Begin with settings, as far as the scene has them and they differ."""
        running = self.running_scene
        for item in fields(settings):
            value = getattr(settings, item.name)
            wanted = item.name in KEPT and item.name not in (*LOOKING, *BUDGETS)
            wanted |= item.name == "iterations" and self._own_budgets
            if wanted and value is not None:
                there = item.name.removesuffix("_heading") in running.controls
                if there and value != getattr(running.settings, item.name):
                    getattr(running, f"set_{item.name}")(value)

    def prepare(self, label: str, work: Callable[[], Callable[[], None]], client: str | None) -> None:
        """Make something now; it is used where the log says so."""
        try:
            self._waiting.append(work())
        except VivaceError as error:
            self._waiting.append(lambda: None)
            self.notes.append(f"{label}: {error}")

    def _note(self, message: m.ToPage, client: str | None) -> None:
        if isinstance(message, m.Notice):
            self.notes.append(message.text)


def _each(runs: list[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Sweeps and substeps, frame by frame; the last for ever."""
    last: tuple[int, int] | None = None
    for count, *last_two in runs:
        last = (last_two[0], last_two[1])
        for _ in range(count):
            yield last
    while last is not None:
        yield last


def bits(replay: Session) -> list[Any]:
    """Positions and velocities of all simulations now."""
    return [(sim.positions.tobytes(), sim.velocities.tobytes()) for sim in replay.sims]
