"""Second derivatives of constraints, added to the blocks of a matrix."""

from __future__ import annotations

from ...backends.cpu.compiling import compiled, inlined


@inlined
def position(indptr, columns, row, column):
    """Where an entry stands in a CSR pattern that has it."""
    low, high = indptr[row], indptr[row + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def add_curvature(indptr, columns, blocks, vertices, operator, weights, curvature):
    """Add w Aᵀ C A of every constraint: block (i, j) gets w Σ_rs A_ri A_sj C_rs, with C (m, r, 3, r, 3).

    `blocks` (·, 3, 3) are the entries of a CSR pattern that has every vertex and all that share a constraint with it.
    """
    corners, size = vertices.shape[1], operator.shape[1]
    for e in range(vertices.shape[0]):
        for k in range(corners):
            for other in range(corners):
                at = position(indptr, columns, vertices[e, k], vertices[e, other])
                for r in range(size):
                    for s in range(size):
                        scale = weights[e] * operator[e, r, k] * operator[e, s, other]
                        for c in range(3):
                            for d in range(3):
                                blocks[at, c, d] += scale * curvature[e, r, c, s, d]


@compiled
def add_blocks(indptr, columns, out, vertices, blocks):
    """Add the blocks (m, 3k, 3k) of elements (m, k) to the entries `out` (·, 3, 3) of a CSR pattern that has them."""
    corners = vertices.shape[1]
    for e in range(vertices.shape[0]):
        for k in range(corners):
            for other in range(corners):
                at = position(indptr, columns, vertices[e, k], vertices[e, other])
                for c in range(3):
                    for d in range(3):
                        out[at, c, d] += blocks[e, 3 * k + c, 3 * other + d]
