"""The step: a model in motion, its state, and what a step reports."""

from .report import Report
from .rigid_simulation import RigidReport, RigidSimulation
from .simulation import Simulation
from .state import State

__all__ = ["Report", "RigidReport", "RigidSimulation", "Simulation", "State"]
