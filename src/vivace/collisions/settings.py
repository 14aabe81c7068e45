"""What a body may touch, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import ROUGHEST, STIFFEST, check_flag, check_size, is_number, real_array, shown
from ..errors import InputError
from ..storage import storable
from .pairing import Between
from .thickness import as_thicknesses


@storable("collisions")
@dataclass(frozen=True, eq=False)
class Collisions:
    """What a model may touch, and how: part of a `Model`, made by `Model.collide`.

    Attributes:
        colliders: what does not move: Plane, Sphere, Box, Capsule, ConvexMesh, Sampled.
        thickness: distance that contacts keep (m); where vertices differ, the largest.
        friction: Coulomb's coefficients, (static, kinetic).
        itself: whether the surfaces of the model touch each other: self-collision, and body against body.
        stiffness: of contacts in projective dynamics (N/m); None: 300 m/h² of solvers that move everything at once,
            that of the vertices in contact of those that sweep.
        guard: check, after the solver, that no surface has passed through another, and keep apart what would.
        sleep: a vertex in contact that a step would move by less than this share of the thickness stays where it is.
        bodies: rigid bodies (`vivace.Body`) that it touches, free, moved along a path, or fixed.
        between: friction of pairs, in the place of `friction` and of what colliders have of their own.
        animated: surfaces that move and deform (`vivace.AnimatedMesh`).
        thicknesses: (n,) of each vertex (m), see `thickness`; None: all have the same.
    """

    colliders: tuple[Any, ...]
    thickness: float
    friction: tuple[float, float]
    itself: bool
    stiffness: float | None = None
    guard: bool = True
    sleep: float = 0.0
    bodies: tuple[Any, ...] = ()
    between: tuple[Between, ...] = ()
    animated: tuple[Any, ...] = ()
    thicknesses: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.colliders, (tuple, list)):
            raise InputError(f"colliders must be several, such as [Plane()], not {shown(self.colliders)}")
        for collider in self.colliders:
            if not callable(getattr(collider, "distance", None)):
                raise InputError(
                    "a collider is a Plane, Sphere, Box, Capsule or Sampled of vivace.collisions, "
                    f"not {shown(collider)}"
                )
        if not is_number(self.thickness) or not self.thickness > 0:
            raise InputError(f"the thickness of contacts must be positive (m), not {shown(self.thickness)}")
        check_size("the thickness of contacts", self.thickness)
        self._check_thicknesses()
        object.__setattr__(self, "friction", as_friction(self.friction))
        check_flag("itself, whether the body touches itself,", self.itself)
        check_flag("guard, whether surfaces are kept from passing through each other,", self.guard)
        if not is_number(self.sleep) or not 0 <= self.sleep < 1:
            raise InputError(f"sleep must be a share of the thickness, 0 to 1, not {shown(self.sleep)}")
        if not isinstance(self.between, (tuple, list)) or not all(isinstance(row, Between) for row in self.between):
            raise InputError(f"friction between pairs is given to Model.collide, not {shown(self.between)}")
        object.__setattr__(self, "between", tuple(self.between))
        if self.stiffness is not None and not (is_number(self.stiffness) and 0 < self.stiffness <= STIFFEST):
            raise InputError(
                f"the stiffness of contacts must be positive (N/m), {STIFFEST:g} at most, not {shown(self.stiffness)}"
            )

    def _check_thicknesses(self) -> None:
        if self.thicknesses is None:
            return
        each = real_array(self.thicknesses) if isinstance(self.thicknesses, np.ndarray) else None
        if each is None or each.ndim != 1 or not len(each):
            raise InputError(f"thicknesses must be an array of one for each vertex, not {shown(self.thicknesses)}")
        each = np.array(each, np.float64)
        as_thicknesses(each)
        if each.max() != self.thickness:
            raise InputError(
                f"thickness must be the largest of thicknesses, {each.max():g} m, not {self.thickness:g}; "
                "give Model.collide one thickness, or one for each part"
            )
        each.setflags(write=False)
        object.__setattr__(self, "thicknesses", each)

    @property
    def per_vertex(self) -> np.ndarray:
        """(n,) thicknesses of the vertices, or (1,) that of all, in m."""
        return np.array([float(self.thickness)]) if self.thicknesses is None else self.thicknesses


def as_friction(friction: Any) -> tuple[float, float]:
    """Return static and kinetic friction coefficients from one number for both, or two."""
    pair = (friction, friction) if is_number(friction) else friction
    if isinstance(pair, np.ndarray):
        pair = pair.tolist()
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(is_number, pair)):
        raise InputError(f"friction must be a coefficient or the pair (static, kinetic), not {shown(friction)}")
    static, kinetic = map(float, pair)
    if not 0 <= kinetic <= static:
        raise InputError(
            f"friction must be static >= kinetic >= 0, not static {static}, kinetic {kinetic}; "
            "give the larger coefficient first"
        )
    if static > ROUGHEST:
        raise InputError(f"friction must be at most {ROUGHEST:g}, beyond which float32 has no use for it, not {static}")
    return static, kinetic
