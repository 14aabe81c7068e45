"""Membranes in Newton's blocks: their arrays with corners in rising order, and the phases that read them."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import Phase
from ...constraints.kernels.membrane import local_membranes
from .kernels.acceleration import BLOCK
from .kernels.block_galerkin import add_pairs
from .kernels.block_lists import pair_places
from .kernels.membrane_blocks import membrane_gains, membrane_pairs
from .layout import Layout


class Membranes:
    """The membranes of a layout: `tables` has the arrays of each group by the names that kernels have for them."""

    def __init__(self, layout: Layout):
        self.tables = list[dict[str, np.ndarray]]()
        for group in layout.system.projected:
            if group.kind.kernel is not local_membranes:
                continue
            corner = np.argsort(layout.rank[group.vertices], axis=1)
            vertices = np.take_along_axis(layout.rank[group.vertices], corner, axis=1)
            visit = np.argsort(vertices[:, 0], kind="stable")
            operator = np.take_along_axis(group.operator, corner[:, None, :], axis=2)[visit].astype(np.float32)
            self.tables.append(
                {
                    "vertices": np.ascontiguousarray(vertices[visit]),
                    "operator": operator.ravel(),
                    "parameters": group.parameters[visit].astype(np.float32).ravel(),
                    "weights": group.weights[visit].astype(np.float32),
                    "slopes": np.ascontiguousarray(np.swapaxes(operator, 1, 2)).reshape(-1, 4),
                    "q": layout.q,
                }
            )

    def pairs(
        self, at: np.ndarray, middle: np.ndarray, j: np.ndarray, mirror: np.ndarray, blocks: np.ndarray
    ) -> list[Phase]:
        """Their Hessians, pair by pair of corners, taken from the entries of the finest level."""
        phases = list[Phase]()
        for table in self.tables:
            m = len(table["weights"])
            pairs = np.zeros((9 * m, 4), np.float32)
            rows = np.arange(0, 9 * m, 3, dtype=np.int32).reshape(m, 3)
            pair_at, places = pair_places(at, j[: len(mirror)], table["vertices"], rows)
            entries = {"row_at": at, "middle": middle, "mirror": mirror, "blocks": blocks}
            phases.append(membrane_pairs.over(0, m, pairs=pairs, **membrane_pairs.select(table)))
            phases.append(add_pairs.over(0, len(middle), pair_at=pair_at, places=places, pairs=pairs, **entries))
        return phases

    def judging(self, q_old: np.ndarray) -> list[tuple[Phase, np.ndarray]]:
        """What the trapezium rule leaves out of their energy: phases, and sums in blocks."""
        found = []
        for table in self.tables:
            m = len(table["weights"])
            partial = np.zeros(-(-m // BLOCK))
            arrays = {**membrane_gains.select(table), "q_old": q_old, "partial": partial}
            found.append((membrane_gains.over(0, m, grain=BLOCK, **arrays), partial))
        return found
