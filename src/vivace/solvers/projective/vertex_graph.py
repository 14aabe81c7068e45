"""Who shares a constraint with whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...energy.kernels.assemble import count_pairs, fill_columns, merge_columns


def vertex_graph(n: int, tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that share a constraint, as CSR (indptr, indices)."""
    counts = np.zeros(n, np.int64)
    for table in tables:
        count_pairs(counts, table)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns, cursor = np.empty(indptr[-1], np.int32), indptr[:-1].copy()
    for table in tables:
        fill_columns(cursor, columns, table)
    indptr = merge_columns(indptr, columns)
    return indptr.astype(np.int32), columns[: indptr[-1]].copy()
