"""The live app: a page in the browser to look at a simulation, pull at it and change it while it runs."""

from .choices import Target
from .view import Viewer, view_simulation

__all__ = ["Target", "Viewer", "view_simulation"]
