"""The step: a model in motion, its state, and what a step reports."""

from .loading import load
from .report import Report
from .rigid_simulation import RigidReport, RigidSimulation
from .rigid_state import RigidState
from .simulation import Simulation
from .state import State

__all__ = ["Report", "RigidReport", "RigidSimulation", "RigidState", "Simulation", "State", "load"]
