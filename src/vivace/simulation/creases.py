"""What a step leaves behind in constraints that flow: creases, of which a simulation has its own.

A model is frozen, and so are its groups. A simulation has a live copy of those whose type has a `flow`; what these hold
is part of its state.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..constraints import ConstraintGroup, LiveGroup
from ..energy.system import System
from ..errors import InputError
from ..model import Model

NAME = "creases."  # in the memory of a state


class Creases:
    """The live groups of a simulation, in the order of the model's.

    Attributes:
        groups: (the model's, one's own), of those that flow.
    """

    def __init__(self) -> None:
        self.groups: list[tuple[ConstraintGroup, LiveGroup]] = []
        self._before: list[np.ndarray] = []

    def alive(self, model: Model) -> Model:
        """The model with live groups; those that are there already go on, and so do those that hold the same."""
        flowing = [group for group in model.groups if group.kind.flow is not None]
        if not flowing:
            self.groups = []
            return model
        known, made = list(self.groups), []
        for group in flowing:
            live = next((live for of, live in known if of is group), None)
            if live is None:
                live = LiveGroup.of(group)
                carry(live.parameters, group, [old for _, old in known])
            made.append((group, live))
        self.groups = made
        found = {id(group): live for group, live in made}
        return replace(model, groups=tuple(found.get(id(group), group) for group in model.groups))

    def step(self, q: np.ndarray, h: float, *, keep: bool = False) -> None:
        """After a step of h seconds that ended at the rows q; `keep` what was before, for its report."""
        if keep:
            self._before = [live.parameters.copy() for _, live in self.groups]
        for _, live in self.groups:
            live.step(q, h)

    def before(self, system: System) -> System:
        """The system of the last step, with what was at rest then: reports are asked later."""
        if not self.groups:
            return system
        kept = zip(self.groups, self._before, strict=True)
        return with_groups(system, {id(live): live.frozen(parameters) for (_, live), parameters in kept})

    def kept(self, model: Model) -> Model:
        """The model, with what flowed until now as its own."""
        if not self.groups:
            return model
        found = {id(group): live.frozen(live.parameters.copy()) for group, live in self.groups}
        return replace(model, groups=tuple(found.get(id(group), group) for group in model.groups))

    def take(self, model: Model) -> None:
        """Go on with the creases that a model of the same vertices has as its own."""
        for group, live in self.groups:
            parameters = live.parameters.copy()
            carry(parameters, group, [other for other in model.groups if other.kind.flow is not None])
            live.take(parameters)

    def memory(self) -> dict[str, np.ndarray]:
        """What flowed until now: copies, by name."""
        count = enumerate(self.groups)
        return {f"{NAME}{k}": live.parameters[:, : live.kind.flowing].copy() for k, (_, live) in count}

    def check(self, memory: dict[str, np.ndarray]) -> None:
        """Refuse what these cannot go on with; a state of a model without creases begins with the model's own."""
        names = [name for name in memory if name.startswith(NAME)]
        if names and len(names) != len(self.groups):
            raise InputError(f"the state has {len(names)} groups of creases, and this model {len(self.groups)}")
        for k, (group, _) in enumerate(self.groups if names else []):
            shape, found = (len(group), group.kind.flowing), memory.get(f"{NAME}{k}")
            if found is None or found.shape != shape or found.dtype != np.float64 or not np.isfinite(found).all():
                raise InputError(
                    f"the creases {k} of the state must be finite numbers of shape {shape}, not "
                    f"{getattr(found, 'shape', None)}"
                )

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `memory` gave."""
        for k, (group, live) in enumerate(self.groups):
            parameters, flowed = group.parameters.copy(), memory.get(f"{NAME}{k}")
            if flowed is not None:
                parameters[:, : group.kind.flowing] = flowed
            live.take(parameters)


def carry(
    parameters: np.ndarray,
    group: ConstraintGroup,
    others: Sequence[ConstraintGroup],
    ids: np.ndarray | None = None,
    other_ids: np.ndarray | None = None,
) -> None:
    """Write what flowed in `others` into the parameters of the constraints of `group` that have the same vertices.

    `ids`, `other_ids`: by which vertices of either are called the same; None: by their numbers.
    """
    count = group.kind.flowing
    for other in others:
        if other.kind is not group.kind:
            continue
        own = group.vertices if ids is None else ids[group.vertices]
        theirs = other.vertices if other_ids is None else other_ids[other.vertices]
        if np.array_equal(own, theirs):
            parameters[:, :count] = other.parameters[:, :count]
            continue
        places = {tuple(vertices): row for row, vertices in enumerate(theirs.tolist())}
        rows = np.array([places.get(tuple(vertices), -1) for vertices in own.tolist()], np.int64)
        parameters[rows >= 0, :count] = other.parameters[rows[rows >= 0], :count]


def creased_like(
    model: Model, other: Model, ids: np.ndarray | None = None, other_ids: np.ndarray | None = None
) -> Model:
    """A model with the creases of another, whose vertices may be others; see `carry`."""
    made = []
    for group in model.groups:
        if group.kind.flow is None:
            made.append(group)
            continue
        parameters = group.parameters.copy()
        carry(parameters, group, other.groups, ids, other_ids)
        parameters.setflags(write=False)
        made.append(replace(group, parameters=parameters))
    return replace(model, groups=tuple(made))


def with_groups(system: System, exchanged: dict[int, ConstraintGroup]) -> System:
    """A system with other groups of the same operators and weights, by the id of those that they replace."""
    other = copy.copy(system)
    other.__dict__.pop("objective", None)

    def swapped(groups: list[ConstraintGroup]) -> list[ConstraintGroup]:
        return [exchanged.get(id(group), group) for group in groups]

    other.model = replace(system.model, groups=tuple(swapped(list(system.model.groups))))
    other.projected, other.positional = swapped(system.projected), swapped(system.positional)
    return other
