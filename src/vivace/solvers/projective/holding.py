"""Elements of a tangle in a layout: what their own passes leave out, and what they have instead.

`hyperelastic.tangles` says why. While an element is held, its volume and the inverse of its rest edges are zero where
its density's passes read them, so that these give nothing for it, and phases of this file give what it has instead.
There is nothing else to switch: plans are the same with and without a tangle, and without one these phases return at
once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...backends.cpu.arguments import Phase
from ...hyperelastic.kernels.tangles import turned_diagonal, turned_local, turned_pairs
from ...hyperelastic.tangles import Tangle


class Holding:
    """The elements of one term that are held to a rotation in this step.

    Args:
        visit: the term's element at each place.
        stiff: κ of each.
        inverse, volumes: what the passes of the term's density read; changed here.
        slots: of the corners.
        places: of the blocks between corners, as `phases.pairs` takes them.
    """

    def __init__(
        self,
        visit: np.ndarray,
        stiff: np.ndarray,
        inverse: np.ndarray,
        volumes: np.ndarray,
        slots: np.ndarray,
        places: Mapping[str, np.ndarray],
    ):
        m = len(visit)
        self._place = np.empty(m, np.int64)
        self._place[visit] = np.arange(m)
        self._read = inverse.reshape(m, 9), volumes
        self._own = self._read[0].copy(), volumes.copy()
        self._slots, self._places, self._count = slots, places, np.zeros(1, np.int32)
        self._held, self._turns = np.zeros(m, np.int32), np.zeros(9 * m, np.float32)
        self._arrays = {
            "count": self._count,
            "held": self._held,
            "inverse": self._own[0].ravel(),
            "weights": stiff * volumes,
        }

    @property
    def holds(self) -> bool:
        """Whether anything is held."""
        return bool(self._count[0])

    def take(self, tangle: Tangle | None) -> None:
        """Hold these from now on, and no others."""
        if self._count[0]:
            before = np.flatnonzero(self._held)
            for read, own in zip(self._read, self._own, strict=True):
                read[before] = own[before]
            self._held[:] = 0
        self._count[0] = 0 if tangle is None else len(tangle.elements)
        if tangle is not None:
            places = self._place[tangle.elements]
            for read in self._read:
                read[places] = 0.0
            self._held[places] = 1
            self._turns.reshape(-1, 9)[places] = tangle.turns

    def local(self, out: np.ndarray) -> Phase:
        """Their shares of the right-hand side, after those of the others."""
        return turned_local.over(0, len(self._held), turns=self._turns, slots=self._slots, out=out, **self._arrays)

    def diagonal(self, straight: np.ndarray, mixed: np.ndarray) -> Phase:
        """Their corners' own 3 x 3 Hessians, as `Potential.diagonal`."""
        out = {"straight": straight, "mixed": mixed, "slots": self._slots}
        return turned_diagonal.over(0, len(self._held), **out, **self._arrays)

    def pairs(self, out: np.ndarray) -> Phase:
        """Their Hessians between two corners, as `Potential.pairs`."""
        return turned_pairs.over(0, len(self._held), out=out, **self._places, **self._arrays)
