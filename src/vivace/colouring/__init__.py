"""Graph colouring: partition the unknowns so that those of one colour do not depend on each other.

    from vivace.colouring import colour
    order, pointers = colour(indptr, indices, "brooks-vizing", seed=1).order()

A new algorithm is one file with one `@colouring(name)`, and one line here.
"""

from . import brooks_vizing, greedy, jones_plassmann, largest_degree_first, luby  # noqa: F401  they register themselves
from .balance import balanced
from .constraints import (
    BalanceReport,
    balance_report,
    balanced_constraints,
    colour_constraints,
    dual_graph,
    is_valid_constraint_colouring,
    merge_small,
    smallest_last_bound,
    split,
)
from .core import COLOURINGS, Colouring, colour, colouring, options_of
from .graph import first_conflict, is_valid
from .recolour import (
    ContactColours,
    WarmConstraints,
    recolour,
    recolour_constraints,
    recolour_with,
)

__all__ = [
    "COLOURINGS",
    "BalanceReport",
    "Colouring",
    "ContactColours",
    "WarmConstraints",
    "balance_report",
    "balanced",
    "balanced_constraints",
    "colour",
    "colour_constraints",
    "colouring",
    "dual_graph",
    "first_conflict",
    "is_valid",
    "is_valid_constraint_colouring",
    "merge_small",
    "options_of",
    "recolour",
    "recolour_constraints",
    "recolour_with",
    "smallest_last_bound",
    "split",
]
