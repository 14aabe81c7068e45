"""The step: a model in motion, its state, and what a step reports."""

from .report import Report
from .simulation import Simulation

__all__ = ["Report", "Simulation"]
