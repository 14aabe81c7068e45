"""Orientations as unit quaternions (s, x, y, z), the scalar first as in [thesis2010, (2.5)]; many at once."""

from __future__ import annotations

import numpy as np

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """First b, then a, both (..., 4)."""
    s, x, y, z = np.moveaxis(a, -1, 0)
    t, u, v, w = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            s * t - x * u - y * v - z * w,
            s * u + x * t + y * w - z * v,
            s * v - x * w + y * t + z * u,
            s * w + x * v - y * u + z * t,
        ],
        axis=-1,
    )


def exponential(turn: np.ndarray) -> np.ndarray:
    """The rotation about a vector (..., 3) by its length, in rad."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    half = 0.5 * angle
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * turn], axis=-1)


def normalised(q: np.ndarray) -> np.ndarray:
    """The same rotations, of length one."""
    out: np.ndarray = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return out


def matrices(q: np.ndarray) -> np.ndarray:
    """(..., 3, 3): body to world."""
    s, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)],
        [2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)],
        [2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def of_matrix(rotation: np.ndarray) -> np.ndarray:
    """The quaternion of a (3, 3) rotation, by the largest of its components, which none cancels in."""
    squares = np.array(
        [
            1 + rotation[0, 0] + rotation[1, 1] + rotation[2, 2],
            1 + rotation[0, 0] - rotation[1, 1] - rotation[2, 2],
            1 - rotation[0, 0] + rotation[1, 1] - rotation[2, 2],
            1 - rotation[0, 0] - rotation[1, 1] + rotation[2, 2],
        ]
    )
    k = int(np.argmax(squares))
    skew = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    if k == 0:
        found = np.concatenate([[squares[0]], skew])
    else:
        found = np.empty(4)
        found[0] = skew[k - 1]
        found[1:] = rotation[k - 1] + rotation[:, k - 1]
        found[k] = squares[k]
    return normalised(found if found[0] >= 0 else -found)
