"""What an energy term is, and what its Hessian is made of: a model may have terms of its own."""

from .pieces import Blocks
from .term import ElementTerm, Frame, Term

__all__ = ["Blocks", "ElementTerm", "Frame", "Term"]
