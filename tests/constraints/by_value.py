"""Single constraints that are known by their value, and slopes of it by differences."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from vivace.constraints import make_group
from vivace.energy.system import values

EPS = float(np.finfo(float).eps)
TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FOLD = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 1, 0], [0.6, -1, 0]])  # edge start, edge end, opposite, opposite: flat
BY_VALUE = ["volume", "dihedral"]


def one(name, rest, **options):
    return make_group(name, rest, [[0, 1, 2, 3]], 1.0, **options)


def value(group, q):
    c, gradient = values(group, np.asarray(q, np.float64))
    return float(c[0]), gradient[0]


def differences(group, q, h):
    """∂C/∂x by central differences, (4, 3)."""
    out = np.zeros((4, 3))
    for k, c in np.ndindex(4, 3):
        step = np.zeros((4, 3))
        step[k, c] = h
        out[k, c] = (value(group, q + step)[0] - value(group, q - step)[0]) / (2 * h)
    return out


def folded(angle):
    """FOLD with its second triangle turned about the edge: positive is a ridge, seen from where normals point."""
    q = FOLD.copy()
    q[3] = Rotation.from_rotvec([angle, 0, 0]).apply(FOLD[3])
    return q
