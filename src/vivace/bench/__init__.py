"""Measurements that can be believed: warmed up, repeated, with their spread and the settings that made them.

from vivace.bench import distance, energies, run_scene

run = run_scene(vv.make_scene("tablecloth", resolution=30), frames=60, record=True)
run.summary()  # milliseconds, sweeps, stretch, errors
energies(run.scene.model, run.trajectory())  # J, frame by frame
distance(run.trajectory(), other.trajectory())  # m between two runs, frame by frame
run_rigid(vv.make_scene("box-stack")).summary()  # contacts, overlaps, energies of rigid bodies
"""

from .motion import Stretch, Trajectory, angular_momenta, distance, energies, heights, stretch
from .rigid_run import RigidRun, run_rigid
from .run import Run
from .run import run as run_scene

__all__ = [
    "RigidRun",
    "Run",
    "Stretch",
    "Trajectory",
    "angular_momenta",
    "distance",
    "energies",
    "heights",
    "run_rigid",
    "run_scene",
    "stretch",
]
