"""Checkpoints: a whole simulation in a file, as data.

    sim.save("drape.vivace")
    ...                                   # another day, another process, another machine
    sim = vivace.load("drape.vivace")     # and the same steps as if nothing had happened, bit for bit

The file says which version wrote it, and has the model (mesh, masses, constraints, terms, what it touches), the
settings (solver with its options, budget, time step, substeps, integrator, ...) and the state (`sim.state`). It is a
zip of .npy arrays and a JSON text (`unzip -p drape.vivace about.json`); nothing in it is code, and what
it names is looked up among what is registered. `vivace.storage` has what is safe about that.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import FileError, InputError, VivaceError
from ..storage import Stored, read_container, unpack, write_container

KIND = "vivace checkpoint"
FORMAT = 1
"""Of the files. A change of what is in them raises it and adds to `CHANGES`."""

CHANGES: dict[int, str] = {}
"""What an older format lacks that this version cannot do without, by its number; formats that are not here are read."""

PARTS = {"kind", "settings", "state", "more"}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What is in a checkpoint.

    Attributes:
        path: of the file.
        version: of the package that wrote it.
        settings: the arguments that make the simulation again, by name; `model` or `bodies` among them.
        state: that it goes on with, a `State` or a `RigidState`.
        more: what somebody else has put beside it, such as the run that it belongs to.
    """

    path: Path
    version: str
    settings: dict[str, Any]
    state: Any
    more: dict[str, Any]
    kind: str

    @property
    def same_version(self) -> bool:
        """Whether this version wrote it: another may go on with other bits."""
        return self.version == __version__


def write_checkpoint(
    path: str | PathLike[str], kind: str, settings: dict[str, Any], state: Any, more: dict[str, Any] | None = None
) -> Path:
    """Write a simulation's settings and state; refused, before anything is written, where something is no data.

    Args:
        path: of the file, which is replaced as a whole.
        kind: "soft" or "rigid": which simulation.
        settings: its arguments.
        state: of it.
        more: what else is to be there when it is read.
    """
    about = {"file": KIND, "format": FORMAT, "vivace": __version__, "frame": state.frames}
    try:
        return write_container(path, about, {"kind": kind, "settings": settings, "state": state, "more": more or {}})
    except InputError as error:
        raise InputError(f"this simulation cannot be saved: {error}") from error


def read_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """Read and check a file; of what is in it nothing is simulated yet."""
    stored = read_container(path, "a checkpoint")
    version = _check_about(Path(path), stored)
    try:
        found = unpack(stored.about.get("value"), stored.arrays)
        if not isinstance(found, dict) or set(found) != PARTS:
            raise InputError("it has no settings or no state")
        if not isinstance(found["settings"], dict) or not isinstance(found["more"], dict):
            raise InputError("its settings are no settings")
        return Checkpoint(Path(path), version, found["settings"], found["state"], found["more"], str(found["kind"]))
    except VivaceError as error:
        raise FileError(f"cannot load {path}: {error}{written_by(version)}") from error
    except Exception as error:  # what was stored is not what its class can be made of
        raise FileError(f"cannot load {path}: it is damaged ({error!r:.200}){written_by(version)}") from error


def written_by(version: str) -> str:
    """For messages: which version wrote a file, if it was another."""
    return "" if version == __version__ else f"; it was written by version {version}, and this is {__version__}"


def _check_about(path: Path, stored: Stored) -> str:
    about = stored.about
    if about.get("file") != KIND:
        raise FileError(f"cannot read {path}: it is no checkpoint of a simulation")
    number, version = about.get("format"), str(about.get("vivace"))[:40]
    if type(number) is not int or number < 1:
        raise FileError(f"cannot read {path}: its format is {str(number)[:40]}")
    if number > FORMAT:
        raise FileError(
            f"cannot read {path}: version {version} wrote it in format {number}, and this version, {__version__}, "
            f"reads formats up to {FORMAT}; update it"
        )
    if number in CHANGES:
        raise FileError(
            f"cannot read {path}: version {version} wrote it in format {number}; since then {CHANGES[number]}"
        )
    return version
