"""What a step minimises, as a sum of terms (`terms` tells how to write one), and how projective dynamics sees it."""

from ..terms.pieces import Blocks
from ..terms.term import ElementTerm, Frame, Term
from .motion import Inertia, Pins, Viscosity
from .objective import Objective
from .stored import Projected, Quadratic, Springs, Valued
from .system import System

__all__ = [
    "Blocks",
    "ElementTerm",
    "Frame",
    "Inertia",
    "Objective",
    "Pins",
    "Projected",
    "Quadratic",
    "Springs",
    "System",
    "Term",
    "Valued",
    "Viscosity",
]
