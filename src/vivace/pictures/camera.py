"""Where a picture is taken from, and how to stand so that everything stays in the frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Vector = tuple[float, float, float]

THREE_QUARTER_VIEW: Vector = (0.55, 0.5, 1.0)


def bounds_of(frames: Iterable[ArrayLike]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The box around every finite vertex of every frame, as (lowest, highest) corner."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for frame in frames:
        positions = np.asarray(frame, dtype=float).reshape(-1, 3)
        positions = positions[np.isfinite(positions).all(axis=1)]
        if len(positions):
            low, high = np.minimum(low, positions.min(axis=0)), np.maximum(high, positions.max(axis=0))
    if not np.isfinite(low).all():
        raise InputError("there is nothing to look at: no vertex has a finite position")
    return low, high


@dataclass(frozen=True)
class Camera:
    """A perspective camera. Lengths in the unit of the mesh; `fov_degrees` is the vertical field of view."""

    eye: Vector
    target: Vector
    up: Vector = (0.0, 1.0, 0.0)
    fov_degrees: float = 40.0

    def __post_init__(self) -> None:
        for name in ("eye", "target", "up"):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (3,) or not np.isfinite(value).all():
                raise InputError(f"the camera's {name} must be three finite numbers, not {getattr(self, name)!r}")
            object.__setattr__(self, name, tuple(float(v) for v in value))
        if not 1.0 <= self.fov_degrees <= 150.0:
            raise InputError(f"the field of view must be between 1 and 150 degrees, not {self.fov_degrees!r}")
        forward = np.subtract(self.target, self.eye)
        if np.linalg.norm(np.cross(forward, self.up)) <= 1e-9 * np.linalg.norm(forward) * np.linalg.norm(self.up):
            raise InputError(
                f"a camera at {self.eye} cannot look at {self.target} with up {self.up}; move one of the three"
            )

    @classmethod
    def framing(
        cls,
        bounds_min: ArrayLike,
        bounds_max: ArrayLike,
        direction: Vector = THREE_QUARTER_VIEW,
        *,
        up: Vector = (0.0, 1.0, 0.0),
        fov_degrees: float = 40.0,
        aspect: float = 4 / 3,
        margin: float = 1.1,
    ) -> Camera:
        """Look at a box from `direction` (from the box to the eye), near enough that it fills the frame.

        `aspect` is width over height; `margin` is the room left around the box (1 leaves none).
        """
        low, high = np.asarray(bounds_min, dtype=float), np.asarray(bounds_max, dtype=float)
        if low.shape != (3,) or high.shape != (3,) or not np.isfinite([low, high]).all() or (low > high).any():
            raise InputError(f"the bounds must be a lowest and a highest corner, not {bounds_min!r} and {bounds_max!r}")
        if not (high - low).max() > 1e-9 * max(1.0, np.abs(low).max()):
            low, high = low - 0.5, high + 0.5  # a single point still needs a distance to be seen from
        corners = np.array([[(low, high)[k >> axis & 1][axis] for axis in range(3)] for k in range(8)])
        target = (low + high) / 2
        away = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
        slope = np.tan(np.radians(fov_degrees) / 2) / margin * np.array([aspect, 1.0])
        camera = cls(tuple(target + away), tuple(target), up, fov_degrees)
        axes = camera.axes()
        # Perspective puts the near corners off-centre, so the target and the distance are settled in turn.
        for _ in range(6):
            x, y, z = ((corners - target) @ axes.T).T
            distance = max(np.max(np.abs(x) / slope[0] + z), np.max(np.abs(y) / slope[1] + z))
            image = np.stack([x, y]) / (distance - z)
            target = target + distance * (image.min(axis=1) + image.max(axis=1)) / 2 @ axes[:2]
        x, y, z = ((corners - target) @ axes.T).T
        distance = max(np.max(np.abs(x) / slope[0] + z), np.max(np.abs(y) / slope[1] + z))
        return cls(tuple(target + distance * away), tuple(target), up, fov_degrees)

    @property
    def distance(self) -> float:
        """From the eye to the target."""
        return float(np.linalg.norm(np.subtract(self.eye, self.target)))

    @property
    def view_radius(self) -> float:
        """Half the height of the frame at the target's distance: the size of what is looked at."""
        return self.distance * float(np.tan(np.radians(self.fov_degrees) / 2))

    def axes(self) -> NDArray[Any]:
        """Rows: right, up, and backward (from the target to the eye), orthonormal."""
        backward = np.subtract(self.eye, self.target)
        backward = backward / np.linalg.norm(backward)
        right = np.cross(self.up, backward)
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(backward, right), backward])

    def project(self, positions: NDArray[Any], size: tuple[float, float]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Pixel coordinates (x to the right, y UP from the bottom) and the depth in front of the eye."""
        view = (positions - np.asarray(self.eye)) @ self.axes().T
        depth = -view[:, 2]
        width, height = size
        focal = 0.5 * height / np.tan(np.radians(self.fov_degrees) / 2)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pixels = view[:, :2] * (focal / depth)[:, None] + (0.5 * width, 0.5 * height)
        return pixels, depth
