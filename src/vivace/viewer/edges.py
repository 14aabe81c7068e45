"""Edges with their rest lengths."""

from __future__ import annotations

import numpy as np

from ..mesh import Mesh
from ..mesh.kernels.strain import edge_strain


class Edges:
    """The edges of a mesh with their rest lengths, for measuring strain."""

    def __init__(self, mesh: Mesh):
        ends = mesh.vertices[mesh.edges]
        self.edges = np.ascontiguousarray(mesh.edges, np.int32)
        self.lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).astype(np.float32)
        self.n = mesh.n_vertices

    def strain(self, positions: np.ndarray) -> tuple[np.ndarray, float, float]:
        """The largest strain at each vertex, and mean and largest of all edges."""
        worst = np.zeros(self.n, np.float32)
        mean, _, largest = edge_strain(positions, self.edges, self.lengths, worst)
        return worst, mean, largest
