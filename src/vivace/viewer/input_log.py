"""What people did to a scene, as a log: which scene, and every message with the step before which it was obeyed.

    {"file": "vivace input", "format": 1, "scene": {"name": "tablecloth", ...}, "solver": "auto", "frames": 240, ...}
    {"frame": 31, "client": "1", "type": "grab", "pointer": 0, "vertex": 70, "target": [0.1, 0.2, 0.0], ...}
    {"frame": 32, "client": "1", "type": "drag", ...}
    {"frame": 90, "applied": 0}                 what message 0 of those that take a while asked for was ready
    {"frame": 95, "client": "1", "left": true}
    {"rounds": [[120, 14, 1], [120, 13, 1]]}    120 frames of 14 sweeps in 1 substep, then 120 of 13

A line each, so that a log can be read, edited and cut. Where a log comes from is not known: `read_input` checks all of
it, and opens nothing that it names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from .._version import __version__
from ..checks import is_number, is_whole, shown
from ..errors import FileError, InputError, UnknownNameError
from ..scenes import SCENES, parameters_of
from ..solvers import Budget
from . import messages as m
from .choices import Target
from .messages.coding import decode, plain

KIND, FORMAT = "vivace input", 1
MOST_EVENTS = 1_000_000
MOST_FRAMES = 10_000_000
MOST_BYTES = 1 << 28
LONGEST_LINE = 1 << 16  # bytes; of rounds, more
MOST_TIMES = 20  # a number among a scene's parameters may be so many times its default: sizes are memory
NOT_LOGGED = (m.Drawn, m.Save, m.Cancel, m.SetGhost, m.LoadScene, m.Remake)


@dataclass(frozen=True)
class Event:
    """Something that happened before a step.

    Attributes:
        frame: steps that had been made.
        client: who did it.
        message: what they said; None: they left, or `applied` says what was ready.
        applied: the number of what took a while to prepare.
    """

    frame: int
    client: str = ""
    message: m.FromPage | None = None
    applied: int | None = None

    def line(self) -> str:
        """As a line of a log."""
        if self.applied is not None:
            return json.dumps({"frame": self.frame, "applied": self.applied})
        said: dict[str, Any] = {"left": True} if self.message is None else _short(plain(self.message))
        return json.dumps({"frame": self.frame, "client": self.client, **said})


@dataclass(eq=False)
class InputLog:
    """The input of a scene since it began. Written by the physics thread, read by others.

    Attributes:
        target: where the scene comes from.
        solver: that it began with.
        seed: of its simulation.
        settings: when the first step was made.
        events: in order.
        rounds: runs of equal frames: [how many, sweeps, substeps].
        frames: steps that were made.
        prepared: how many things were prepared in the background.
        trouble: why it cannot be replayed, if it cannot.
    """

    target: Target
    solver: str = "auto"
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    rounds: list[list[int]] = field(default_factory=list)
    frames: int = 0
    prepared: int = 0
    trouble: str = ""

    def heard(self, client: str, message: m.FromPage | None) -> None:
        """Somebody said something, or left."""
        if not isinstance(message, NOT_LOGGED):
            self._add(Event(self.frames, client, message))

    def numbered(self, work: Callable[[], Callable[[], None]]) -> Callable[[], Callable[[], None]]:
        """Work for the background, whose result is logged when it is used."""
        number, self.prepared = self.prepared, self.prepared + 1

        def make() -> Callable[[], None]:
            apply = work()

            def use() -> None:
                self._add(Event(self.frames, applied=number))
                apply()

            return use

        return make

    def stepped(self, settings: m.Settings, report: Any, budget: Budget) -> None:
        """A step was made; rigid bodies have no substeps to say.

        What counts is the iterations of its budget, where it had no other: with bodies among soft ones, or where a part
        of a step has one at least, those made are others.
        """
        known = budget.ms is None and budget.tolerance is None and budget.iterations is not None
        sweeps, substeps = int(budget.most_iterations if known else report.sweeps), int(getattr(report, "substeps", 1))
        if not self.frames:
            self.settings = asdict(settings)
        self.frames += 1
        if self.rounds and self.rounds[-1][1:] == [sweeps, substeps]:
            self.rounds[-1][0] += 1
        else:
            self.rounds.append([1, sweeps, substeps])
        if len(self.rounds) + len(self.events) > MOST_EVENTS:
            self.trouble = "so much was done that not all of it was kept"

    def _add(self, event: Event) -> None:
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.trouble = "so much was done that not all of it was kept"

    def text(self, recorded: tuple[int, int] | None = None) -> str:
        """The log as a file; `recorded`: the frames of it that were recorded."""
        if self.trouble:
            raise InputError(f"this input cannot be saved: {self.trouble}")
        named = self.target.is_named
        scene = {"name": self.target.name if named else Path(self.target.name).name, "named": named}
        head = {
            "file": KIND, "format": FORMAT, "vivace": __version__, "solver": self.solver, "seed": self.seed,
            "scene": {**scene, "parameters": self.target.parameters}, "settings": self.settings, "frames": self.frames,
            **({} if recorded is None else {"recorded": list(recorded)}),
        }  # fmt: skip
        lines = [json.dumps(head, default=str), *(event.line() for event in list(self.events))]
        return "\n".join([*lines, json.dumps({"rounds": [list(run) for run in list(self.rounds)]}), ""])


def _short(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadInput:
    """A log that was read and checked.

    Attributes:
        scene: its name, or that of the file it came from.
        named: whether it is the name of a registered scene.
        parameters: of it.
        solver: that it began with.
        seed: of its simulation.
        settings: that it began with.
        frames: how many steps there are.
        recorded: which of them were recorded.
        events: in order.
        rounds: sweeps and substeps of each step, as runs of equal ones.
    """

    scene: str
    named: bool
    parameters: dict[str, Any]
    solver: str
    seed: int
    settings: m.Change
    frames: int
    recorded: tuple[int, int]
    events: list[Event]
    rounds: list[tuple[int, int, int]]


def read_input(path: Path) -> ReadInput:
    """A log from a file; FileError says what is wrong with it, and in which line."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise FileError(f"{path} is no input log: it has {size:,} bytes, and at most {MOST_BYTES:,} are read")
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is no input log: it is not text") from error
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    reading = 1
    try:
        made = _head(_data(lines[0] if lines else ""))
        events: list[Event] = []
        rounds: list[tuple[int, int, int]] = []
        for number, line in enumerate(lines[1:], 2):
            reading = number
            if not line.strip():
                continue
            if line.startswith('{"rounds"'):
                rounds += _rounds(_data(line))
            elif len(events) == MOST_EVENTS or len(line) > LONGEST_LINE:
                raise InputError("that is more than people do")
            else:
                events.append(_event(_data(line), made["frames"]))
    except (InputError, RecursionError) as error:
        raise FileError(f"{path}, line {reading}: {error}") from error
    if any(a.frame > b.frame for a, b in pairwise(events)):
        raise FileError(f"{path}: its lines must be in the order of their frames")
    return ReadInput(events=events, rounds=rounds, **made)


def _data(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError("not a JSON object")
    return found


def _head(head: dict[str, Any]) -> dict[str, Any]:
    if head.get("file") != KIND:
        raise InputError(f'not an input log, which begins with {{"file": "{KIND}"')
    if head.get("format") != FORMAT:
        raise InputError(f"a log of format {shown(head.get('format'))}, by vivace {shown(head.get('vivace'))}; "
                         f"this is {__version__}, which reads format {FORMAT}")  # fmt: skip
    scene = head.get("scene")
    if not isinstance(scene, dict) or not isinstance(scene.get("name"), str):
        raise InputError("the scene must have a name")
    named, parameters = scene.get("named", True) is True, scene.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError(f"parameters must be names and values, not {shown(parameters)}")
    if named:
        _check_parameters(scene["name"], parameters)
    frames = _whole("frames", head.get("frames", 0), MOST_FRAMES)
    recorded = head.get("recorded", [0, frames])
    if not isinstance(recorded, list) or len(recorded) != 2:
        raise InputError(f"recorded must be the first frame and the one after the last, not {shown(recorded)}")
    begin, end = (_whole("a recorded frame", value, frames) for value in recorded)
    solver = head.get("solver", "auto")
    if not isinstance(solver, str) or len(solver) > 200:
        raise InputError(f"the solver must be a name, not {shown(solver)}")
    return {
        "scene": scene["name"][:200], "named": named, "parameters": parameters, "solver": solver, "frames": frames,
        "seed": _whole("the seed", head.get("seed", 0), 2**63 - 1), "settings": _settings(head.get("settings", {})),
        "recorded": (begin, max(begin, end)),
    }  # fmt: skip


def _check_parameters(name: str, parameters: dict[str, Any]) -> None:
    known = parameters_of(name) if name in SCENES else {}
    SCENES[name]  # or says what there is
    for key, value in parameters.items():
        if key not in known:
            raise UnknownNameError(f"parameter of {name}", key, known)
        usual = known[key]
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > 200):
            raise InputError(f"the parameter {key} must be a number, a word or a truth value, not {shown(value)}")
        if is_number(value) and abs(value) > MOST_TIMES * max(abs(usual) if is_number(usual) else 1, 1):  # type: ignore[arg-type]
            raise InputError(
                f"{key} = {shown(value)} is much more than its usual {usual}; if you mean it, say --set {key}="
            )


def _settings(found: Any) -> m.Change:
    """Settings as a change: each is checked as if a page had said it."""
    if not isinstance(found, dict):
        raise InputError(f"settings must be names and values, not {shown(found)}")
    known = {item.name for item in fields(m.Change)}
    given = {name: value for name, value in found.items() if name in known and value is not None}
    change = decode(json.dumps({"type": m.Change.type, **given}))
    assert isinstance(change, m.Change)
    return change


def _event(data: dict[str, Any], frames: int) -> Event:
    frame = _whole("frame", data.pop("frame", None), frames)
    if "applied" in data:
        return Event(frame, applied=_whole("applied", data["applied"], MOST_EVENTS))
    client = data.pop("client", "")
    if not isinstance(client, str) or len(client) > 64:
        raise InputError(f"a client must be a short text, not {shown(client)}")
    if data == {"left": True}:
        return Event(frame, client)
    message = decode(json.dumps(data))
    if isinstance(message, NOT_LOGGED):
        raise InputError(f"{message.type} is not for logs")
    return Event(frame, client, message)


def _rounds(data: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    runs = data["rounds"]
    if not isinstance(runs, list) or len(runs) > MOST_EVENTS:
        raise InputError("rounds must be a list of [frames, sweeps, substeps]")
    for run in runs:
        if not isinstance(run, list) or len(run) != 3:
            raise InputError(f"rounds must be [frames, sweeps, substeps], not {shown(run)}")
        count, sweeps, substeps = (_whole("rounds", value, MOST_FRAMES) for value in run)
        if not 1 <= substeps <= 100 or count < 1:
            raise InputError(f"rounds must be [frames, sweeps, substeps], not {shown(run)}")
        yield count, max(sweeps, 1), substeps


def _whole(what: str, value: Any, most: int) -> int:
    if not is_whole(value) or not 0 <= value <= most:
        raise InputError(f"{what} must be a whole number from 0 to {most:,}, not {shown(value)}")
    return int(value)
