"""What holds a body together. One file a constraint; `base` tells how to write another."""

from . import attachment, crease, dihedral, hinge, membrane, pin, plate, spring, tetrahedron, volume
from .base import (
    CONSTRAINTS,
    ConstraintGroup,
    ConstraintType,
    Prepared,
    Role,
    constraint,
    make_group,
)
from .live import LiveGroup

__all__ = [
    "CONSTRAINTS",
    "ConstraintGroup",
    "ConstraintType",
    "LiveGroup",
    "Prepared",
    "Role",
    "attachment",
    "constraint",
    "crease",
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
