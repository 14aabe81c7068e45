"""What holds a body together. One file a constraint; `base` tells how to write another."""

from . import attachment, dihedral, hinge, membrane, pin, plate, spring, tetrahedron, volume
from .base import (
    CONSTRAINTS,
    ConstraintGroup,
    ConstraintType,
    Prepared,
    Role,
    constraint,
    make_group,
)

__all__ = [
    "CONSTRAINTS",
    "ConstraintGroup",
    "ConstraintType",
    "Prepared",
    "Role",
    "attachment",
    "constraint",
    "dihedral",
    "hinge",
    "make_group",
    "membrane",
    "pin",
    "plate",
    "spring",
    "tetrahedron",
    "volume",
]
