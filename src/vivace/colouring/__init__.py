"""Graph colouring: partition the unknowns so that those of one colour do not depend on each other.

    from vivace.colouring import colour
    order, pointers = colour(indptr, indices, "brooks-vizing", seed=1).order()

A new algorithm is one file with one `@colouring(name)`, and one line here.
"""

from . import brooks_vizing, greedy, jones_plassmann, largest_degree_first, luby  # noqa: F401  they register themselves
from .balance import balanced
from .core import COLOURINGS, Colouring, colour, colouring, options_of
from .graph import first_conflict, is_valid

__all__ = ["COLOURINGS", "Colouring", "balanced", "colour", "colouring", "first_conflict", "is_valid", "options_of"]
