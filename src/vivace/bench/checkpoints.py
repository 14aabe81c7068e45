"""Runs that can be killed at any moment and gone on with: what `vivace run --checkpoint-every 60 --resume` does.

    film.vivace                   a checkpoint, as `sim.save` writes them, and the figures of all frames until then
    film.vivace.1a2b3c4d.frames   what was recorded of each frame; the checkpoint says how many of them count

Recorded frames are appended and on the disk before the checkpoint that counts them takes the place of the one before.
Whenever the process is killed, there is a checkpoint, and the frames that it counts are there; what follows them is
overwritten.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..simulation.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from ..simulation.rigid_simulation import RigidSimulation
from ..simulation.simulation import Simulation
from ..storage import pack
from .frames import FrameLog, packed_columns, unpacked_rows

SUFFIX = ".vivace"
LONGEST_HEADER = 2**16
Simulated = Simulation | RigidSimulation


class RunCheckpoints:
    """The checkpoints of one run.

    Args:
        path: of the checkpoint.
        every: so many frames there is one; and when the run ends.
        resume: go on from the file, if there is one. Of another run it is refused.

    Attributes:
        begun: the frame from which the run was resumed; 0 if it was not.
    """

    def __init__(self, path: Path, every: int | None, *, resume: bool = False):
        self.path, self.every, self.resume, self.begun = path, every, resume, 0
        self._frame_file: FrameFile | None = None
        self._token, self._run = "", dict[str, Any]()
        self._written = -1

    def begin(self, sim: Simulated, run: dict[str, Any], log: FrameLog) -> None:
        """Take over what is there of a run, or begin one: then what cannot be saved is refused before the first frame.

        Args:
            sim: at its start; it goes on from the checkpoint's state.
            run: what makes the run: scene and settings. A checkpoint of another is refused.
            log: gets the frames that were made.
        """
        self._run = _plain({**run, "bodies": _digest(sim)})
        self._token = secrets.token_hex(4)
        if self.resume and self.path.exists():
            self._go_on(sim, log)
        else:
            self._write(sim, log)
            for other in self.path.parent.glob(f"{_escaped(self.path.name)}.*.frames"):
                if other != self._frames:
                    with suppress(OSError):
                        other.unlink()

    def _go_on(self, sim: Simulated, log: FrameLog) -> None:
        found = read_checkpoint(self.path)
        more = found.more
        if not isinstance(more.get("run"), dict) or not isinstance(more.get("columns"), dict):
            raise FileError(
                f"cannot resume {self.path}: it is a simulation that no run was saved with; see vivace.load"
            )
        _check_same(self.path, more["run"], self._run)
        self._token = str(more["token"])
        if not self._token.isalnum():
            raise FileError(f"cannot resume {self.path}: it is damaged")
        try:
            rows = unpacked_rows(more["columns"])
            sim.state = found.state
        except (InputError, ValueError, KeyError, IndexError, TypeError) as error:
            raise FileError(f"cannot resume {self.path}: {error}") from error
        if len(rows) != sim.frames:
            raise FileError(
                f"cannot resume {self.path}: it is of frame {sim.frames} and has the figures of {len(rows)}"
            )
        if more["recorded"]:
            self._frame_file = FrameFile.open(self._frames, len(rows))
        for k, row in enumerate(rows):
            log.add(row, {} if self._frame_file is None else self._frame_file.read(k))
        if self._frame_file is not None:
            self._frame_file.sync()  # the next frame comes after them
        self.begun = self._written = len(rows)
        self.found: Checkpoint = found

    def after(self, sim: Simulated, log: FrameLog, arrays: Mapping[str, np.ndarray]) -> bool:
        """A frame was made, and these arrays recorded; whether a checkpoint is due."""
        if arrays:
            if self._frame_file is None:
                self._frame_file = FrameFile.create(self._frames, arrays)
            self._frame_file.append(arrays)
        return bool(self.every) and len(log) % (self.every or 1) == 0

    def write(self, sim: Simulated, log: FrameLog) -> None:
        """A checkpoint now, unless there is one of this frame."""
        if self._written != len(log):
            self._write(sim, log)

    def close(self) -> None:
        """No more frames."""
        if self._frame_file is not None:
            self._frame_file.close()

    @property
    def _frames(self) -> Path:
        return self.path.with_name(f"{self.path.name}.{self._token}.frames")

    def _write(self, sim: Simulated, log: FrameLog) -> None:
        if self._frame_file is not None:
            self._frame_file.sync()
        more = {
            "run": self._run, "token": self._token, "recorded": self._frame_file is not None,
            "columns": packed_columns(log.rows),
        }  # fmt: skip
        kind = "rigid" if isinstance(sim, RigidSimulation) else "soft"
        write_checkpoint(self.path, kind, sim.as_data(), sim.state, more)
        self._written = len(log)


class FrameFile:
    """A file of frames: a line that says what each is made of, and then as many bytes for every one."""

    def __init__(self, path: Path, file: BufferedRandom, layout: dict[str, tuple[str, tuple[int, ...]]], start: int):
        self.path, self._file, self._layout, self._start = path, file, layout, start
        self._sizes = {n: np.dtype(kind).itemsize * math.prod(shape) for n, (kind, shape) in layout.items()}
        self._frame = sum(self._sizes.values())

    @classmethod
    def create(cls, path: Path, arrays: Mapping[str, np.ndarray]) -> FrameFile:
        """A new file, for frames like this."""
        layout = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
        head = json.dumps({"file": "vivace frames", "arrays": layout}).encode() + b"\n"
        try:
            file = path.open("wb+")
            file.write(head)
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
        return cls(path, file, layout, len(head))

    @classmethod
    def open(cls, path: Path, frames: int) -> FrameFile:
        """A file of at least so many frames; what follows them is cut off."""
        try:
            file = path.open("rb+")
            head = file.readline(LONGEST_HEADER)
            layout = {name: (str(kind), tuple(shape)) for name, (kind, shape) in json.loads(head)["arrays"].items()}
            if any(np.dtype(kind).kind != "f" for kind, _ in layout.values()):
                raise ValueError("no numbers")
            opened = cls(path, file, layout, len(head))
            have = path.stat().st_size
            if not have >= len(head) + frames * opened._frame or not all(s >= 0 for s in opened._sizes.values()):
                raise ValueError(f"{have} bytes are too few for {frames} frames")
            file.truncate(len(head) + frames * opened._frame)
            file.seek(0, os.SEEK_END)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError(
                f"cannot resume: the recorded frames in {path} are not there, or cut off ({error}); begin anew without "
                "--resume"
            ) from error
        return opened

    def append(self, arrays: Mapping[str, np.ndarray]) -> None:
        """One more frame."""
        try:
            for name, (kind, shape) in self._layout.items():
                array = arrays[name]
                if array.shape != shape:
                    raise InputError(f"{name} of a frame must have the shape {shape}, not {array.shape}")
                self._file.write(np.ascontiguousarray(array, kind).tobytes())
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}; choose another place") from error

    def read(self, k: int) -> dict[str, np.ndarray]:
        """Frame k, from 0."""
        self._file.seek(self._start + k * self._frame)
        return dict(self._arrays(self._file.read(self._frame)))

    def _arrays(self, data: bytes) -> Iterator[tuple[str, np.ndarray]]:
        at = 0
        for name, (kind, shape) in self._layout.items():
            yield name, np.frombuffer(data, kind, math.prod(shape), at).reshape(shape)
            at += self._sizes[name]

    def sync(self) -> None:
        """All frames are on the disk when this returns."""
        self._file.seek(0, os.SEEK_END)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _plain(value: Any) -> Any:
    """What JSON makes of settings, so that those of a file and those at hand can be compared."""
    return json.loads(json.dumps(value, default=str))


def _digest(sim: Simulated) -> str:
    """Of the bodies: a mesh file may have changed meanwhile."""
    data = sim.as_data()
    packed, arrays = pack(data.get("model", data.get("bodies")))
    digest = hashlib.sha256(json.dumps(packed, sort_keys=True).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _check_same(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    for name in sorted({*there, *here}):
        if there.get(name) != here.get(name):
            told = "the mesh or material has changed since" if name == "bodies" else (
                f"its {name} is {str(there.get(name))[:80]}, and {str(here.get(name))[:80]} was asked for"
            )  # fmt: skip
            raise InputError(f"cannot resume {path}: it is of another run: {told}; begin anew without --resume")


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "[]*?" else letter for letter in name)
