"""What holds vertices: the model's own pins, and what is grabbed, which comes and goes while a simulation runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..checks import is_whole, shown
from ..constraints import CONSTRAINTS, ConstraintGroup
from ..errors import InputError
from ..mesh import Mesh
from ..model import Model
from .picking import as_ray, picked_vertex


class Grabs:
    """A model without what is grabbed, what is grabbed of it, and the targets of both.

    Attributes:
        plain: the model without what is grabbed.
        model: the model with it: its free vertices that are grabbed have pins.
        targets: (p, 3) where the pins of `model` hold their vertices (m), in its order.
        soft: stiffness (N/m) of the pins of vertices that hands hold, which are not firm (see `hands`).
    """

    def __init__(self, plain: Model):
        self.plain = self.model = plain
        self.targets = plain.targets.copy()
        self._own = {vertex: row for row, vertex in enumerate(plain.pinned.tolist())}
        self._grabbed: dict[int, int] = {}  # the row of its target, in the order of grabbing
        self._home: dict[int, np.ndarray] = {}  # where pins that are grabbed had their targets
        self.soft: dict[int, float] = {}

    @property
    def grabbed(self) -> tuple[int, ...]:
        """The vertices that are grabbed, in the order in which they were."""
        return tuple(self._grabbed)

    def place_of(self, vertex: int) -> np.ndarray:
        """Where a grabbed vertex is held."""
        place: np.ndarray = self.targets[self._grabbed[vertex]]
        return place

    def rows_of(self, vertices: Iterable[int]) -> list[int]:
        """The rows of `targets` of grabbed vertices."""
        return [self._grabbed[vertex] for vertex in vertices]

    def grab(self, vertices: Sequence[int], places: np.ndarray, stiffness: np.ndarray | None = None) -> None:
        """Hold vertices at `places` (k, 3). `model` stays the same object unless one of them was free.

        `stiffness`: (k,) of their pins, N/m; by default they are firm. Pins of the model are as stiff as they are.
        """
        soft = {} if stiffness is None else dict(zip(vertices, stiffness.tolist(), strict=True))
        other = any(self.soft.get(vertex) != soft.get(vertex) and vertex not in self._own for vertex in vertices)
        for vertex in vertices:
            self.soft.pop(vertex, None)
        self.soft |= soft
        self._take(vertices, places, anew=other)

    def _take(self, vertices: Sequence[int], places: np.ndarray, *, anew: bool = False) -> None:
        new = [vertex for vertex in vertices if vertex not in self._grabbed]
        for vertex in new:
            row = self._own.get(vertex)
            if row is not None:
                self._home[vertex] = self.targets[row].copy()
            self._grabbed[vertex] = -1 if row is None else row
        if anew or any(vertex not in self._own for vertex in new):
            self._pin(dict(zip(vertices, places, strict=True)))
        self.targets[[self._grabbed[vertex] for vertex in vertices]] = places

    def release(self, vertices: Iterable[int]) -> None:
        """Let go; pins of the model go back to where they held their vertex before."""
        free = False
        for vertex in vertices:
            row = self._grabbed.pop(vertex)
            self.soft.pop(vertex, None)
            if vertex in self._own:
                self.targets[row] = self._home.pop(vertex)
            else:
                free = True
        if free:
            self._pin({})

    def over(self, plain: Model) -> Grabs:
        """The same grabs on another model; pins that the two have in common keep the targets they were moved to."""
        other = Grabs(plain)
        before, after = self.plain.targets, plain.targets
        for vertex, row in other._own.items():
            old = self._own.get(vertex)
            if old is not None and np.array_equal(before[old], after[row]):
                other.targets[row] = self._home.get(vertex, self.targets[old])
        other.soft = dict(self.soft)
        if self._grabbed:
            other._take(self.grabbed, self.targets[list(self._grabbed.values())])
        return other

    @property
    def homes(self) -> np.ndarray:
        """(k, 3): where pins that are grabbed have their targets otherwise; NaN for vertices that were free."""
        nowhere = np.full(3, np.nan)
        return np.array([self._home.get(vertex, nowhere) for vertex in self._grabbed]).reshape(-1, 3)

    def restored(
        self, pinned: np.ndarray, targets: np.ndarray, grabbed: list[int], homes: np.ndarray, soft: dict[int, float]
    ) -> Grabs:
        """The same model with other grabs and targets, as a `State` has them; `soft`: those of hands."""
        free = [vertex for vertex in grabbed if vertex not in self._own]
        if sorted([*self._own, *free]) != sorted(pinned.tolist()) or len(pinned) != len(targets):
            raise InputError("the state is of a model with other pins; give this one the same first")
        where = dict(zip(pinned.tolist(), targets, strict=True))
        other = Grabs(self.plain)
        for vertex, row in self._own.items():
            other.targets[row] = homes[grabbed.index(vertex)] if vertex in grabbed else where[vertex]
        other.soft = dict(soft)
        if grabbed:
            other._take(grabbed, np.array([where[vertex] for vertex in grabbed]))
        same = other.model.pinned.tolist() == self.model.pinned.tolist() and other.soft == self.soft
        if same:  # nothing has to be prepared anew
            other.model = self.model
        return other

    def _pin(self, places: dict[int, np.ndarray]) -> None:
        """A new model for what is grabbed; `places`: of those that have no target yet."""
        loose = sorted(vertex for vertex in self._grabbed if vertex not in self._own)
        where = [places[v] if self._grabbed[v] < 0 else self.targets[self._grabbed[v]] for v in loose]
        self.targets = np.concatenate([self.targets[: len(self._own)], np.reshape(where, (-1, 3))])
        self._grabbed.update((vertex, len(self._own) + k) for k, vertex in enumerate(loose))
        if not loose:
            self.model = self.plain
            return
        firm = self.plain.pin_stiffness
        weights = np.array([self.soft.get(vertex, firm) for vertex in loose])
        self.model = _pinned(self.plain, loose, weights, self.targets[len(self._own) :])


def _pinned(model: Model, vertices: list[int], weights: np.ndarray, targets: np.ndarray) -> Model:
    """model.pin(vertices, target=targets) for what has been checked, in a third of the time: somebody is waiting."""
    k = len(vertices)
    parts = np.array(vertices, np.int32)[:, None], np.ones((k, 1, 1)), weights, targets.copy()
    for array in parts:
        array.setflags(write=False)
    return replace(model, groups=(*model.groups, ConstraintGroup(CONSTRAINTS["pin"], *parts)))


def as_vertices(what: object, n: int) -> list[int] | None:
    """The vertices of a sequence of whole numbers from 0 to n - 1, each once; None if it is no such thing."""
    if isinstance(what, np.ndarray):
        what = what.tolist() if what.ndim == 1 else None
    if not isinstance(what, Sequence) or isinstance(what, str) or not all(map(is_whole, what)):
        return None
    vertices = [int(vertex) for vertex in what]
    if any(not 0 <= vertex < n for vertex in vertices):
        return None
    if len(set(vertices)) < len(vertices):
        twice = next(vertex for k, vertex in enumerate(vertices) if vertex in vertices[:k])
        raise InputError(f"vertex {twice} is in the sequence twice; give each once")
    return vertices


def chosen(what: object, q: np.ndarray, mesh: Mesh) -> tuple[list[int], bool] | None:
    """The vertices that are meant, and whether it is a single one; None for a ray that hits nothing."""
    if isinstance(what, tuple) and as_vertices(what, len(q)) is None:
        if len(what) != 2:
            raise InputError("a ray is a pair (origin, direction)")
        hit = picked_vertex(q[:, :3].astype(np.float64), mesh.triangles, *as_ray(*what))
        return None if hit is None else ([hit], True)
    single = is_whole(what)
    vertices = as_vertices([what] if single else what, len(q))
    if vertices is None:
        most = len(q) - 1
        raise InputError(f"grab takes a vertex from 0 to {most}, a sequence of them or a ray, not {shown(what)}")
    return vertices, single
