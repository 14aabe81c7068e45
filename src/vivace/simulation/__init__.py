"""The step: a model in motion, its state, and what a step reports."""

from .report import Report
from .simulation import Simulation
from .state import State

__all__ = ["Report", "Simulation", "State"]
