"""Where rigid bodies touch, or are about to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
