"""The part of a running scene of soft bodies that moves what stands in it. No threads here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model import Model
from ..simulation.simulation import Simulation
from .exchanging import exchange
from .messages import Settings
from .running import Running
from .tailoring import tailored
from .things import Carry, CarryingPointers, Things


class RunningThings(Running[Simulation]):
    """A running scene whose things can be taken; `model`: as the scene has it, where they are colliders."""

    model: Model
    things: Things

    def _begin_things(self, model: Model, force: float) -> None:
        """What stands in a scene that begins, and hands of so many newtons."""
        self.things, self._starts_taken = Things(model), False
        self._carrying = CarryingPointers(force, self.things)
        self.pointers: Any = self._carrying

    def _take(self, key: tuple[str, int], thing: int, target: np.ndarray) -> None:
        """A pointer takes a thing; from the first on, things are bodies that can be led."""
        self._be_taken(thing)
        self.pointers.release(self.sims, key)
        self.things.hold(key, thing, target)

    def _be_taken(self, thing: int) -> None:
        self.things.check(thing)
        if not self.things.taken:
            self.things.taken = True
            model = self.made_of(self.model, self.settings)
            for sim in self.sims:
                exchange(sim, model)

    def send_thing(self, thing: int, shift: Sequence[float]) -> None:
        """Lead a thing somewhere without a hand: a change is taken back, or made again."""
        self._be_taken(thing)
        self.things.send(thing, shift)

    def use_things(self, things: Things) -> None:
        """Go on with the things of a running scene before, wherever they are."""
        self.things, self._starts_taken = things, things.taken
        self._carrying.things = things

    def carried(self) -> list[Carry]:
        """What hands have moved and let go of since this was asked last."""
        found: list[Carry] = list(self._carrying.carried)
        self._carrying.carried.clear()
        return found

    def made_of(self, model: Model, settings: Settings) -> Model:
        """What simulations get: a scene's model as the settings have it, with things as they are."""
        return self.things.in_model(tailored(model, settings))

    def _put_things_back(self) -> None:
        """What stands is colliders again, where it stood, unless the start knows it as bodies."""
        if self.things.taken and not self._starts_taken:
            self.things.give_back()
            for sim in self.sims:
                sim.replace_model(self.made_of(self.model, self.settings))
