"""What holds a body together. One file a constraint; `base` tells how to write another."""

from . import hinge, pin, spring, tetrahedron
from .base import CONSTRAINTS, ConstraintGroup, ConstraintType, Prepared, Role, constraint, make_group

__all__ = [
    "CONSTRAINTS",
    "ConstraintGroup",
    "ConstraintType",
    "Prepared",
    "Role",
    "constraint",
    "hinge",
    "make_group",
    "pin",
    "spring",
    "tetrahedron",
]
