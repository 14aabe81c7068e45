"""Constraints whose parameters change from step to step, and the copies that solvers have of these."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import numpy as np

from .base import ConstraintGroup
from .kernels.local import flow_pass


@dataclass(frozen=True, eq=False)
class LiveGroup(ConstraintGroup):
    """One simulation's own copy of a group: `step` changes its parameters, and those of all who follow it.

    Models stay frozen. A solver that lays out parameters in its own order calls `follow`, which is all it has to do.
    """

    _followers: list[tuple[weakref.ref[np.ndarray], np.ndarray]] = field(default_factory=list)
    _parts: list[tuple[weakref.ref[LiveGroup], np.ndarray]] = field(default_factory=list)

    @classmethod
    def of(cls, group: ConstraintGroup) -> LiveGroup:
        """A copy with parameters of its own."""
        return cls(group.kind, group.vertices, group.operator, group.weights, group.parameters.copy())

    def subset(self, some: np.ndarray) -> ConstraintGroup:
        """Those that are selected: they change with these."""
        plain = super().subset(some)
        part = LiveGroup(self.kind, plain.vertices, plain.operator, plain.weights, plain.parameters)
        self._parts.append((weakref.ref(part), some))
        return part

    def follow(self, array: np.ndarray, place: np.ndarray) -> None:
        """Keep a copy of the parameters up to date, as long as it lives."""
        self._followers.append((weakref.ref(array), place))
        self._tell(array, place)

    def step(self, q: np.ndarray, h: float) -> bool:
        """What a step of h seconds that ended at the rows q (n, 4) leaves behind; whether it left anything."""
        assert self.kind.flow is not None
        changed = bool(flow_pass(self.kind.flow)(q, self.vertices, self.operator, self.parameters, h))
        if changed:
            self.tell()
        return changed

    def take(self, parameters: np.ndarray) -> None:
        """Go on with other parameters."""
        self.parameters[:] = parameters
        self.tell()

    def frozen(self, parameters: np.ndarray) -> ConstraintGroup:
        """The group with given parameters, which do not change any more."""
        parameters.setflags(write=False)
        return ConstraintGroup(self.kind, self.vertices, self.operator, self.weights, parameters)

    def tell(self) -> None:
        """Parameters have changed."""
        for reference, place in list(self._followers):
            array = reference()
            if array is None:
                self._followers.remove((reference, place))
            else:
                self._tell(array, place)
        for part_of, some in list(self._parts):
            part = part_of()
            if part is None:
                self._parts.remove((part_of, some))
            else:
                part.take(self.parameters[some])

    def _tell(self, array: np.ndarray, place: np.ndarray) -> None:
        array.reshape(-1, self.parameters.shape[1])[place] = self.parameters
