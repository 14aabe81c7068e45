"""The vertices that are attached to rigid bodies (`Model.attach`), while these move.

To the solvers an attached vertex is a pin whose target moves with the body, so that all of them know it. A body that
is free feels it, too. Soft and rigid bodies are solved in turns, and a stiff pin between them would let neither move:
each turn would find the other side where it was. So the pin of a free body has the weight W of a softer spring, and
holds the rest by a force λ that is remembered from turn to turn (the method of multipliers, for a spring of k N/m):

    F = W (g + λ/w),    1/W = 1/w + 1/k,    n w = κ M/h²;        λ becomes F, and in the end F = k g

g is the way from the vertex to its place in the body, n how many vertices hold the body of mass M. A turn leaves
κ/(κ + 1) of what is wrong, however heavy or light the body is (see `collisions.moving`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..collisions.contacts import ContactForces, feature_ids
from ..collisions.moving import KAPPA, Poses
from ..constraints import Role
from ..model import Model


class Attached:
    """Attached vertices, where their bodies hold them, and with what forces.

    Attributes:
        vertices: (a,) their numbers.
        bodies: (a,) the number of the body of each, in the order of `Model.collide`.
        forces: (a, 3) on the vertices, in N; the other half acts on bodies that are free.
        places: (a, 3) where their bodies have them, in m.
    """

    def __init__(self, model: Model):
        parts = model.attachments
        self.made_of, self.rows = parts, np.zeros(0, np.int64)
        self.vertices = np.concatenate([part.vertices for part in parts])
        self.bodies = np.concatenate([np.full(len(part.vertices), part.number) for part in parts])
        self.free = np.concatenate([np.full(len(part.vertices), not part.body.immovable) for part in parts])
        self._rest = np.asarray(model.mesh.vertices, np.float64)[self.vertices]
        self._first = 0 if model.collisions is None else len(model.collisions.colliders)
        self.forces, self.places = np.zeros((len(self.vertices), 3)), self._rest.copy()
        self._aims = self._rest.copy()

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        return f"<{len(self)} vertices attached to rigid bodies>"

    def fit(self, model: Model, h: float) -> None:
        """Take the weights of steps of h seconds, and find the pins among all that the model has."""
        row_of = {int(vertex): row for row, vertex in enumerate(model.pinned)}
        self.rows = np.array([row_of[int(vertex)] for vertex in self.vertices])
        stiffness = np.concatenate([group.weights for group in model.groups if group.kind.role is Role.TARGET])
        self._w = penalties(model, h)[self.vertices][:, None]
        self._weights = 1.0 / (1.0 / self._w + 1.0 / stiffness[self.rows, None])  # W, k where w is infinite

    def follow(self, after: Poses, targets: np.ndarray) -> np.ndarray:
        """Targets (p, 3) of all pins while bodies end a substep in these poses; those of what is attached have λ/w."""
        self.places = self._held_at(after)
        self._aims = (self.places + self.forces / self._w).astype(np.float32)  # as the solver gets them
        out = targets.copy()
        out[self.rows] = self._aims
        return out

    def pull(self, positions: np.ndarray) -> ContactForces:
        """What vertices that a solve has brought to `positions` (n, 4) are held with, which is λ from now on."""
        self.forces = self._weights * (self._aims - positions[self.vertices, :3])
        return self._told(self.places, positions, self.forces)

    def pulls(self, after: Poses, positions: np.ndarray) -> ContactForces:
        """What they would be held with at other places."""
        return self._told(self._held_at(after), positions, self.forces)

    def _held_at(self, poses: Poses) -> np.ndarray:
        """(a, 3): where bodies in these poses have their vertices."""
        turns, shifts = poses.turns[self.bodies], poses.shifts[self.bodies]
        places: np.ndarray = np.einsum("aji,aj->ai", turns, self._rest - shifts)
        return places

    def _told(self, places: np.ndarray, positions: np.ndarray, forces: np.ndarray) -> ContactForces:
        """As bodies take forces of contacts: these hold in all directions, not along a normal."""
        count = len(self)
        renewed = self._weights * (places - positions[self.vertices, :3] + self.forces / self._w)
        ids = feature_ids(self.vertices, self._first + self.bodies)
        nowhere, all_ways = np.zeros((count, 3)), np.ones(count)
        return ContactForces(ids, places, nowhere, forces, renewed, self._weights[:, 0], all_ways)


def untouched(model: Model) -> np.ndarray:
    """(a,) numbers of the contacts that attached vertices would have with the body that they are attached to."""
    first = 0 if model.collisions is None else len(model.collisions.colliders)
    ids = [feature_ids(part.vertices, np.full(len(part.vertices), first + part.number)) for part in model.attachments]
    return np.concatenate(ids) if ids else np.zeros(0, np.int64)


def penalties(model: Model, h: float) -> np.ndarray:
    """(n,) w in N/m, of vertices attached to free bodies, in steps of h; infinite for others."""
    out = np.full(model.n, np.inf)
    holding: dict[int, list[np.ndarray]] = {}
    for part in model.attachments:
        if not part.body.immovable:
            holding.setdefault(part.number, []).append(part.vertices)
    for parts in holding.values():
        vertices = np.concatenate(parts)
        body = next(part.body for part in model.attachments if part.vertices is parts[0])
        out[vertices] = KAPPA * body.weight / (len(vertices) * h**2)
    return out


def fitted(model: Model, h: float) -> Model:
    """The model as solvers see it in steps of h: pins of what is attached to free bodies have the weight W."""
    if all(part.body.immovable for part in model.attachments):
        return model
    w = penalties(model, h)
    groups = []
    for group in model.groups:
        if group.kind.role is Role.TARGET and np.isfinite(w[group.vertices[:, 0]]).any():
            weights = 1.0 / (1.0 / w[group.vertices[:, 0]] + 1.0 / group.weights)
            weights.setflags(write=False)
            group = replace(group, weights=weights)
        groups.append(group)
    return replace(model, groups=tuple(groups))
