"""Where rigid bodies touch, or are about to."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..errors import InputError
from .kernels.pairs import match


@dataclass(eq=False)
class ContactPoints:
    """Contacts of pairs of bodies, sorted by the bodies and then by the feature.

    bodies    (K, 2) int32: the lower number first
    points    (K, 3) float64: midway between the two surfaces, in m
    normals   (K, 3) float64: unit vectors from the first body to the second, one for all contacts of a pair
    gaps      (K,) float64: how far the surfaces are apart along the normal, in m; negative where they overlap
    features  (K,) int64: which corners or edges touch. With the bodies it is the name of a contact: the same from
              step to step for as long as they do, whatever other contacts come and go
    """

    bodies: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray
    features: np.ndarray

    @classmethod
    def none(cls) -> ContactPoints:
        """No contacts."""
        room = np.zeros((0, 3))
        return cls(np.zeros((0, 2), np.int32), room, room.copy(), np.zeros(0), np.zeros(0, np.int64))

    def check(self, bodies: int, impulses: np.ndarray) -> None:
        """Refuse contacts that so many bodies cannot have, or that have other impulses (K, 4)."""
        like, count = ContactPoints.none(), len(impulses)
        for item in fields(self):
            array, wanted = getattr(self, item.name), getattr(like, item.name)
            if array.shape != (count, *wanted.shape[1:]) or array.dtype != wanted.dtype:
                raise InputError(f"the state's contacts do not belong to {bodies} bodies and {count} impulses")
        if impulses.shape != (count, 4) or not np.isfinite(impulses).all():
            raise InputError("the state's impulses must be (K, 4) finite numbers")
        if count and not 0 <= self.bodies.min() <= self.bodies.max() < bodies:
            raise InputError(f"the state's contacts do not belong to {bodies} bodies and {count} impulses")

    def __len__(self) -> int:
        return len(self.gaps)

    @property
    def depth(self) -> float:
        """The deepest overlap, in m."""
        return float(max(0.0, -self.gaps.min(initial=0.0)))

    @property
    def pairs(self) -> np.ndarray:
        """(K,) int64: both bodies in one number, the first in the upper half."""
        out: np.ndarray = (self.bodies[:, 0].astype(np.int64) << 32) | self.bodies[:, 1]
        return out

    def places_in(self, earlier: ContactPoints) -> np.ndarray:
        """Where each contact stood in an earlier list, (K,) int64; -1 for those that are new. Both must be sorted."""
        found: np.ndarray = match(self.bodies, self.features, earlier.bodies, earlier.features)
        return found

    def selected(self, which: np.ndarray) -> ContactPoints:
        """Some of them, by truth values or numbers."""
        parts = (self.bodies, self.points, self.normals, self.gaps, self.features)
        return ContactPoints(*(np.ascontiguousarray(part[which]) for part in parts))
