"""All that a simulation of rigid bodies carries from one step to the next: `State` for bodies.

before = sim.state           # a copy
for _ in range(100):
    sim.step()
sim.state = before           # and the same hundred steps again, bit for bit
sim.state.save("stack.npz")
other.state = RigidState.load("stack.npz")
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import LARGEST, as_numbers
from ..errors import InputError
from ..rigid.contacts import ContactPoints
from ..storage import storable
from .state import read_arrays, write_arrays

PLAIN = ("time", "frames")
CONTACTS = tuple(item.name for item in fields(ContactPoints))


@storable("rigid-state")
@dataclass(eq=False)
class RigidState:
    """The state of a simulation of rigid bodies between two steps.

    Attributes:
        positions: (M, 3) centres of mass, m.
        orientations: (M, 4) unit quaternions, the scalar first.
        velocities: (M, 3) m/s.
        spins: (M, 3) rad/s.
        forces: what was set: (M, 6), N and N m.
        gravity: what was set: (3,), m/s².
        impulses: (K, 4) of the last substep's contacts, N s: the next begins with them.
        contacts: these contacts, by the names of `vivace.rigid.contacts.ContactPoints`.
        grabs: (g, 8): number, body, held point in its frame (m) and target (m) of all that is held.
        given: how many grabs there have been.
        time: simulated, s.
        frames: steps made.
    """

    positions: np.ndarray
    orientations: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray
    forces: np.ndarray
    gravity: np.ndarray
    impulses: np.ndarray
    contacts: dict[str, np.ndarray]
    grabs: np.ndarray
    given: int = 0
    time: float = 0.0
    frames: int = 0

    def __repr__(self) -> str:
        return f"<RigidState of {len(self.positions)} bodies at {self.time:g} s, frame {self.frames}>"

    def copy(self) -> RigidState:
        """One that shares nothing with this."""
        parts = {item.name: getattr(self, item.name) for item in fields(self)}
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[name] = value.copy()
        return RigidState(**{**parts, "contacts": {name: array.copy() for name, array in self.contacts.items()}})

    def check(self, count: int, movable: np.ndarray) -> None:
        """Refuse what a simulation of `count` bodies cannot go on with."""
        shapes = {"positions": 3, "orientations": 4, "velocities": 3, "spins": 3, "forces": 6}
        for name, width in shapes.items():
            as_numbers(f"{name} of the state", getattr(self, name), (count, width), most=LARGEST)
        as_numbers("gravity of the state", self.gravity, (3,))
        if set(self.contacts) != set(CONTACTS):
            raise InputError(f"the state's contacts do not belong to {count} bodies and {len(self.impulses)} impulses")
        ContactPoints(**self.contacts).check(count, self.impulses)
        if self.grabs.ndim != 2 or self.grabs.shape[1] != 8 or not np.isfinite(self.grabs).all():
            raise InputError(f"the state's grabs must be (g, 8) finite numbers, not of shape {self.grabs.shape}")
        held = self.grabs[:, 1].astype(int)
        if ((held < 0) | (held >= count)).any() or not movable[held].all():
            raise InputError("the state holds a body that is not free in this simulation")

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a .npz file that `load` reads; whole, or not at all."""
        arrays = {item.name: getattr(self, item.name) for item in fields(self)}
        about = {name: arrays.pop(name) for name in ("given", *PLAIN)}
        contacts = {f"contacts.{name}": array for name, array in arrays.pop("contacts").items()}
        return write_arrays(path, about, {**arrays, **contacts})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> RigidState:
        """Read what `save` has written."""

        def made(about: dict[str, Any], arrays: dict[str, Any]) -> RigidState:
            contacts = {name: arrays.pop(f"contacts.{name}") for name in CONTACTS}
            return cls(contacts=contacts, **arrays, **{name: about[name] for name in ("given", *PLAIN)})

        return read_arrays(path, made)
