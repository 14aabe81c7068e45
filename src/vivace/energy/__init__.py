"""What a step minimises, as a sum of terms (`terms` tells how to write one), and how projective dynamics sees it."""

from .motion import Inertia, Pins, Viscosity
from .objective import Objective
from .pieces import Blocks
from .stored import Projected, Quadratic, Springs, Valued
from .system import System
from .terms import ElementTerm, Frame, Term

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
