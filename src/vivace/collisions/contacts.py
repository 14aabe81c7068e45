"""The contacts of one step, as all solvers take them.

A contact is a plane over some vertices, n · Σ a_k x_k >= gap: of one vertex and a collider or rigid body, of three, a
triangle and a rigid body (a patch), or of four, a vertex and a triangle or two edges. It has a number that says which
features touch, the same step after step: whoever wants to begin with the forces of the last step finds them by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

BITS = 31  # of the number of a feature; of two in an id, and one for which kind they are
PARTS = ("vertices", "coefficients", "planes", "friction", "ids")  # that every list has
OF_EDGES = np.int64(1) << 62
OF_PATCH = np.int64(-(2**63))


def feature_ids(first: np.ndarray, second: np.ndarray, *, edges: bool = False) -> np.ndarray:
    """(c,) int64: vertex and collider, vertex and triangle, or edge and edge."""
    own = (np.asarray(first, np.int64) << BITS) | np.asarray(second, np.int64)
    return own | OF_EDGES if edges else own


def patch_ids(triangle: np.ndarray, slot: np.ndarray, body: np.ndarray, slots: int) -> np.ndarray:
    """(c,) int64, all negative: triangle and rigid body, and which of so many contacts that these may have."""
    first = slots * np.asarray(triangle, np.int64) + slot
    ids: np.ndarray = OF_PATCH | (first << BITS) | np.asarray(body, np.int64)
    return ids


@dataclass(eq=False)
class ContactList:
    """Contacts over k vertices each.

    Attributes:
        vertices: (c, k) int32.
        coefficients: (c, k) float32, a: z = Σ a_k x_k is the way between the points that are closest (or the vertex
            itself).
        planes: (c, 4) float32: unit normal n, and gap (m): the contact asks n · z >= gap.
        friction: (c, 2) float32: static and kinetic coefficient.
        ids: (c,) int64: which features touch, see `feature_ids`.
        motion: (c, 3) float32: how far what is touched carries the vertex in this step (m); None: it stands still.
        share: (c,) float32: of the stiffness that contacts have in projective dynamics; None: all of it.
    """

    vertices: np.ndarray
    coefficients: np.ndarray
    planes: np.ndarray
    friction: np.ndarray
    ids: np.ndarray
    motion: np.ndarray | None = None
    share: np.ndarray | None = None

    @classmethod
    def none(cls, corners: int) -> ContactList:
        """No contacts."""
        none = np.zeros((0, corners), np.float32)
        return ContactList(
            none.astype(np.int32), none, np.zeros((0, 4), np.float32), none[:, :0], np.zeros(0, np.int64)
        )

    def __len__(self) -> int:
        return len(self.vertices)

    @property
    def corners(self) -> np.ndarray:
        """All vertices one after the other, (c k,)."""
        return self.vertices.ravel()

    @property
    def second(self) -> np.ndarray:
        """The second of the features that touch, (c,): the number of the collider, triangle or edge."""
        return (self.ids & ((1 << BITS) - 1)).astype(np.int32)

    @property
    def motions(self) -> np.ndarray:
        """`motion`, also where nothing moves."""
        return np.zeros((len(self), 3), np.float32) if self.motion is None else self.motion

    @property
    def shares(self) -> np.ndarray:
        """`share`, also where it is the whole."""
        return np.ones(len(self), np.float32) if self.share is None else self.share

    def ordered(self, order: np.ndarray) -> ContactList:
        """The same, or some of them, in another order."""
        parts = [np.ascontiguousarray(getattr(self, name)[order]) for name in PARTS]
        more = (None if part is None else np.ascontiguousarray(part[order]) for part in (self.motion, self.share))
        return ContactList(*parts, *more)

    def joined(self, other: ContactList) -> ContactList:
        """These and others, sorted by the vertex and then by what it touches."""
        if not (len(self) and len(other)):
            return self.followed_by(other)
        both = self.followed_by(other)
        return both.ordered(np.argsort(both.ids, kind="stable"))

    def followed_by(self, other: ContactList) -> ContactList:
        """These, and then others."""
        if not len(other):
            return self
        if not len(self):
            return other
        parts = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in (*PARTS, "motions", "shares")]
        return ContactList(*parts)

    def places_in(self, ids: np.ndarray) -> np.ndarray:
        """Where each contact stood in the list with these ids, -1 for those that are new."""
        order = np.argsort(ids, kind="stable")
        at = np.minimum(np.searchsorted(ids, self.ids, sorter=order), max(len(ids) - 1, 0))
        if not len(ids):
            return np.full(len(self), -1)
        return np.where(ids[order[at]] == self.ids, order[at], -1)

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the contacts of each first vertex begin, (touched + 1,), in a list that is sorted by it."""
        first = np.flatnonzero(np.diff(self.vertices[:, 0], prepend=-1))
        return np.append(first, len(self)).astype(np.int32)

    @property
    def couples(self) -> np.ndarray:
        """The pairs of vertices that contacts over four make neighbours, (p, 2)."""
        corners = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        pairs = np.concatenate([self.vertices[:, pair] for pair in corners])
        different: np.ndarray = pairs[pairs[:, 0] != pairs[:, 1]]  # a patch has its first vertex twice
        return different


@dataclass(eq=False)
class Contacts:
    """What the collide stage found.

    Attributes:
        colliders: vertices against colliders and rigid bodies, sorted by vertex and then by collider.
        surfaces: surfaces against surfaces, over four vertices.
        recovery: how fast gaps that were violated already are restored (m a step): of all, or (n,) of each vertex.
        patches: triangles against rigid bodies, over three vertices and the first of them again, see `patches`.
    """

    colliders: ContactList = field(default_factory=lambda: ContactList.none(1))
    surfaces: ContactList = field(default_factory=lambda: ContactList.none(4))
    recovery: float | np.ndarray = 0.001
    patches: ContactList = field(default_factory=lambda: ContactList.none(4))

    def __len__(self) -> int:
        return len(self.colliders) + len(self.surfaces) + len(self.patches)

    def recoveries(self, vertices: np.ndarray) -> np.ndarray:
        """That of contacts over (c, k) vertices, (c,): of two sides the mean, told by the first vertex and the last."""
        if not isinstance(self.recovery, np.ndarray):
            return np.full(len(vertices), self.recovery)
        return np.asarray(0.5 * (self.recovery[vertices[:, 0]] + self.recovery[vertices[:, -1]]))

    @property
    def touched(self) -> np.ndarray:
        """Numbers of the colliders and rigid bodies that vertices and triangles touch, with repetitions."""
        return np.concatenate([self.colliders.second, self.patches.second])

    @cached_property
    def over_four(self) -> ContactList:
        """Surfaces against surfaces, and then patches: all that solvers may treat alike."""
        return self.surfaces.followed_by(self.patches)


@dataclass(eq=False)
class ContactForces:
    """What colliders and rigid bodies hold vertices with, when a solve ends: the other half of these acts on bodies.

    Attributes:
        ids: (c,) int64, see `feature_ids`.
        points: (c, 3) where the vertices are, or the points of patches, in m.
        normals: (c, 3) of the contacts.
        forces: (c, 3) on the vertices, in N.
        renewed: (c, 3) what these become in another solve, if neither side moves: what is still too close is held with
            more and more force.
        stiffness: (c,) N/m: how fast the force along the normal grows as the body comes closer.
        grip: (c,) what share of that holds across the normal: 1 where it sticks, less where it slides.
    """

    ids: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    forces: np.ndarray
    renewed: np.ndarray
    stiffness: np.ndarray
    grip: np.ndarray

    def joined(self, other: ContactForces) -> ContactForces:
        """These and others; a contact may be there twice."""
        return ContactForces(
            *(np.concatenate([own, more]) for own, more in zip(_parts(self), _parts(other), strict=True))
        )


def _parts(forces: ContactForces) -> tuple[np.ndarray, ...]:
    return tuple(getattr(forces, item.name) for item in fields(forces))


NONE = Contacts()
