"""What a body may touch, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..checks import is_number
from ..errors import InputError


@dataclass(frozen=True, eq=False)
class Collisions:
    """Part of a Model; made by `Model.collide`.

    colliders  what does not move: Plane, Sphere, Box, Capsule, Sampled
    thickness  distance that contacts keep (m)
    friction   Coulomb's coefficients, (static, kinetic)
    itself     whether the surfaces of the model touch each other: self-collision, and body against body
    stiffness  of contacts in projective dynamics (N/m); None: that of pins
    """

    colliders: tuple
    thickness: float
    friction: tuple[float, float]
    itself: bool
    stiffness: float | None = None

    def __post_init__(self) -> None:
        for collider in self.colliders:
            if not callable(getattr(collider, "distance", None)):
                raise InputError(
                    f"a collider is a Plane, Sphere, Box, Capsule or Sampled of vivace.collisions, not {collider!r}"
                )
        if not is_number(self.thickness) or not 0 < self.thickness < np.inf:
            raise InputError(f"the thickness of contacts must be positive (m), not {self.thickness!r}")
        if self.stiffness is not None and not (is_number(self.stiffness) and self.stiffness > 0):
            raise InputError(f"the stiffness of contacts must be positive (N/m), not {self.stiffness!r}")


def as_friction(value: object) -> tuple[float, float]:
    """(static, kinetic) from one number for both, or two."""
    pair = (value, value) if is_number(value) else value
    if not isinstance(pair, Iterable) or isinstance(pair, str):
        raise InputError(f"friction is a number or (static, kinetic), not {value!r}")
    numbers = tuple(pair)
    if len(numbers) != 2 or not all(is_number(x) and x >= 0 for x in numbers):
        raise InputError(f"friction is a number or (static, kinetic), each zero or more, not {value!r}")
    static, kinetic = (float(x) for x in numbers)
    if kinetic > static:
        raise InputError(f"kinetic friction cannot exceed static friction: {kinetic} > {static}")
    return static, kinetic
