"""Derivatives by F of functions of many matrices, by central differences of fourth order."""

import numpy as np


def by_matrix(function, f, step=1e-4):
    """∂ function/∂F: (m, 3, 3, ...) for a function from (m, 3, 3) to (m, ...)."""
    columns = []
    for c in range(3):
        for r in range(3):
            move = np.zeros((3, 3))
            move[c, r] = step
            near = function(f + move) - function(f - move)
            columns.append((8 * near - function(f + 2 * move) + function(f - 2 * move)) / (12 * step))
    return np.stack(columns, axis=1).reshape(len(f), 3, 3, *columns[0].shape[1:])
