"""The part of a running scene of soft bodies that is edited: pins and cuts. No threads here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..model import Model
from ..scenes import Scene
from ..scenes.edits import Edits, written_in
from ..simulation.creases import creased_like
from ..simulation.simulation import Simulation
from ..simulation.state import State
from ..solvers import Solver, make_solver
from .choices import with_relaxation
from .editing import ModelEdit, joined
from .running_things import RunningThings
from .snapshot import Backdrop


class RunningEdits(RunningThings):
    """A running scene whose body is pinned and cut.

    Attributes:
        own_model: as the scene began.
        cuts: (p, 2) pairs of elements that each cut since then has parted.
        start: positions and velocities of its vertices at the start.
    """

    scene: Scene
    own_model: Model
    start: tuple[np.ndarray, np.ndarray]
    _start_of_all: State | None
    _creased_start: Model
    cuts: Sequence[np.ndarray] = ()

    @property
    def pins(self) -> int:
        """How many vertices are pinned."""
        return len(self.model.pinned)

    def check_cuttable(self) -> None:
        """Refuse a cut, where there is none."""

    def use_model(self, edit: ModelEdit, *, back: bool = False) -> None:
        """Go on with the model after an edit, or with the one before it: positions and velocities carry over."""
        model = edit.before if back else edit.after
        made = self.made_of(model, self.settings)
        start = self.scene.start if self.scene.start is None else self._placed(self.scene.start, edit, back)
        self.scene = replace(self.scene, model=model, start=start)
        if edit.parents is None:
            for sim in self.sims:
                sim.replace_model(made)
        else:
            self.pointers.release_all(self.sims)
            self.sims = [self._carried(sim, edit, back) for sim in self.sims]
            self._creased_start = creased_like(self.sims[0].model, self._creased_start, *same_vertices(edit, back))
            self.start = self._placed(self.start[0], edit, back), self._placed(self.start[1], edit, back)
            parted = [] if edit.parted is None else [edit.parted]
            self.cuts = self.cuts[:-1] if back else [*self.cuts, *parted]
        if self._start_of_all is not None:
            held = replace(self._start_of_all, pinned=model.pinned, targets=model.targets)
            self._start_of_all = replace(held, last_pinned=model.pinned[:0], last_targets=model.targets[:0])
        self.model = model
        self.backdrop = Backdrop(self.backdrop.number + 1, self.scene)

    @staticmethod
    def _placed(values: np.ndarray, edit: ModelEdit, back: bool) -> np.ndarray:
        """Values of the vertices at the start, for the vertices that there are after an edit."""
        if edit.parents is None:
            return values
        return values[: edit.before.n] if back else values[edit.parents]

    def _carried(self, sim: Simulation, edit: ModelEdit, back: bool) -> Simulation:
        """A simulation that goes on from where another is, whose vertices a cut has parted, or joined again."""
        assert edit.parents is not None
        k, model = self.sims.index(sim), edit.before if back else edit.after
        made = self._like(sim, self.made_of(model, self.settings), make_solver(self._asked(k)))
        if back:
            made.positions = joined(sim.positions, edit.parents, edit.after.masses)
            made.velocities = joined(sim.velocities, edit.parents, edit.after.masses)
        else:
            made.positions, made.velocities = sim.positions[edit.parents], sim.velocities[edit.parents]
        made.crease_like(creased_like(made.model, sim.creased(), *same_vertices(edit, back)))
        made.gravity, made.wind, made.frames = sim.gravity, sim.wind, sim.frames
        as_far(made, sim)
        return made

    def _asked(self, k: int) -> tuple[str, dict[str, Any]]:
        """The solver of simulation k, as `make_solver` takes it."""
        return with_relaxation(self.names[k], self.settings.relaxation if k == 0 else None)

    @property
    def edits(self) -> Edits | None:
        """Pins and cuts that people have made; None where there are none."""
        if self.model is self.own_model:
            return None
        return Edits(self.own_model.n, tuple(self.cuts), tuple(np.sort(self.model.pinned).tolist()))

    @property
    def all_edits(self) -> Edits | None:
        """Likewise, after those that the scene's file made."""
        now, before = self.edits, written_in(self.scene)
        if before is None or now is None:
            return now or before
        return Edits(before.vertices, (*before.cuts, *now.cuts), now.pins)

    @staticmethod
    def _like(sim: Simulation, model: Model, solver: Solver) -> Simulation:
        """A simulation with the settings of another."""
        return Simulation(
            model,
            solver=solver,
            budget=sim.budget,
            time_step=sim.time_step,
            threads=sim.threads,
            seed=sim.seed,
            guess=sim.guess,
            substeps=sim.asked_substeps,
            integrator=sim.integrator,
        )


def same_vertices(edit: ModelEdit, back: bool) -> tuple[np.ndarray | None, np.ndarray | None]:
    """By what to call the vertices after an edit, and those before it, so that copies are called as what they copy."""
    return (None, edit.parents) if back else (edit.parents, None)


def as_far(sim: Simulation, other: Simulation) -> None:
    """Let what stands, and what follows a path, be where it is in another simulation."""
    sim.time = other.time
    if sim.bodies is not None and other.bodies is not None:
        sim.bodies.recall(other.bodies.memory())
