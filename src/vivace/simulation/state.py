"""All that a simulation carries from one step to the next, so that it can be copied, written down and gone on with.

before = sim.state           # a copy
for _ in range(100):
    sim.step()
sim.state = before           # and the same hundred steps again, bit for bit
sim.state.save("drape.npz")
other.state = State.load("drape.npz")
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..checks import FASTEST, LARGEST, STRONGEST, as_numbers, is_number, is_whole, shown
from ..errors import FileError, InputError
from ..files import replacing
from ..storage import storable

FORMAT = 1  # of the files
VECTORS = ("positions", "velocities", "forces", "gravity", "wind", "targets", "homes", "last_targets")
WHOLE = ("pinned", "grabbed", "last_pinned")
COUNTED = ("counted_seconds", "counted_frames")
PLAIN = ("seconds", "frames", "form", "integrator", "solver")
Made = TypeVar("Made")


@storable("state")
@dataclass(eq=False)
class State:
    """The state of a simulation between two steps.

    Attributes:
        positions: (n, 3) float32, m.
        velocities: (n, 3) float32, m/s; with form="verlet" the last displacements, m.
        forces: what was set: (n, 3), N.
        gravity: what was set: (3,), m/s².
        wind: what was set: (3,), m/s.
        pinned: vertices that the model's pins hold.
        targets: where they hold them: (p, 3), m.
        grabbed: vertices that are grabbed.
        homes: where the pins among them have their targets otherwise: (k, 3), m.
        last_pinned: vertices that were pinned at the end of the last step.
        last_targets: where they were then: the next step moves them from there.
        seconds: simulated time.
        frames: steps made.
        form: of the simulation it was taken from, which another must have to go on with it.
        integrator: likewise.
        memory: what the first guess, the integrator and the solver remember, by name.
        counted_seconds: the time from which steps are counted, when the time step last changed; None: `seconds`.
        counted_frames: the steps made until then; None: `frames`. Time is their product with the time step beyond that,
            which rounds differently from any other beginning.
    """

    positions: np.ndarray
    velocities: np.ndarray
    forces: np.ndarray
    gravity: np.ndarray
    wind: np.ndarray
    pinned: np.ndarray
    targets: np.ndarray
    grabbed: np.ndarray
    homes: np.ndarray
    last_pinned: np.ndarray
    last_targets: np.ndarray
    seconds: float = 0.0
    frames: int = 0
    form: str = "velocity"
    integrator: str = "euler"
    solver: str = ""
    memory: dict[str, np.ndarray] = field(default_factory=dict)
    counted_seconds: float | None = None
    counted_frames: int | None = None

    def __repr__(self) -> str:
        return f"<State of {len(self.positions)} vertices at {self.seconds:g} s, frame {self.frames}>"

    def copy(self) -> State:
        """One that shares nothing with this."""
        parts = {item.name: getattr(self, item.name) for item in fields(self)}
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[name] = value.copy()
        return State(**{**parts, "memory": {name: array.copy() for name, array in self.memory.items()}})

    def check(self, n: int) -> None:
        """Refuse what a simulation of n vertices cannot go on with."""
        for name in ("positions", "velocities", "forces"):
            as_numbers(f"{name} of the state", getattr(self, name), (n, 3), most=LARGEST)
        as_numbers("gravity of the state", self.gravity, (3,), most=STRONGEST, unit="m/s²")
        as_numbers("wind of the state", self.wind, (3,), most=FASTEST, unit="m/s")
        for name, places in (("pinned", "targets"), ("grabbed", "homes"), ("last_pinned", "last_targets")):
            numbers, rows = getattr(self, name), np.asarray(getattr(self, places))
            whole = isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu"
            if not whole or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < n):
                raise InputError(f"{name} of the state must be numbers of vertices from 0 to {n - 1}")
            if rows.shape != (len(numbers), 3) or rows.dtype.kind != "f" or (np.abs(rows) > LARGEST).any():
                raise InputError(f"{places} of the state must be as many places as there are {name}, not {rows.shape}")
        if not (is_number(self.seconds) and is_whole(self.frames) and 0 <= self.frames < 2**62):
            raise InputError(f"the state's time must be a number of seconds and of frames, not {shown(self.seconds)}")
        if not (isinstance(self.memory, dict) and all(isinstance(a, np.ndarray) for a in self.memory.values())):
            raise InputError("what a state remembers must be arrays by name")

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a .npz file that `load` reads; whole, or not at all."""
        arrays = {name: getattr(self, name) for name in (*VECTORS, *WHOLE)}
        arrays |= {f"memory.{name}": array for name, array in self.memory.items()}
        return write_arrays(path, {name: getattr(self, name) for name in (*PLAIN, *COUNTED)}, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> State:
        """Read what `save` has written."""

        def made(about: dict[str, Any], arrays: dict[str, Any]) -> State:
            memory = {name[7:]: array for name, array in arrays.items() if name.startswith("memory.")}
            plain = {name: about[name] for name in PLAIN} | {name: about.get(name) for name in COUNTED}
            return cls(**{name: arrays[name] for name in (*VECTORS, *WHOLE)}, **plain, memory=memory)

        return read_arrays(path, made)


def write_arrays(path: str | PathLike[str], about: dict[str, Any], arrays: dict[str, Any]) -> Path:
    """Write a state: its arrays, and numbers and words about it."""
    from .._version import __version__

    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"a state is written to a .npz file, not {path.name!r}")
    text = json.dumps({"format": FORMAT, "vivace": __version__, **about})
    with replacing(path) as temporary, Path(temporary).open("wb") as file:
        np.savez(file, about=np.array(text), **arrays)
    return path


def read_arrays(path: str | PathLike[str], make: Callable[[dict[str, Any], dict[str, Any]], Made]) -> Made:
    """Read what `write_arrays` has written, and make a state of it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        if about["format"] != FORMAT:
            raise FileError(f"cannot read {path}: its format is {about['format']}, and this version reads {FORMAT}")
        return make(about, arrays)
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: there is no such file") from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise FileError(f"cannot read {path}: it is no state of a simulation, or truncated ({error})") from None
