"""The tablecloth by Blender's cloth modifier, through the `bpy` module.

Its springs are mass-spring like ours: on triangles, one for each edge, and angular bending. Numbers are translated:
its unit of time is a frame of √0.001 s (gravity is multiplied by 0.001), tension is a stiffness times the mean length
of the edges, bending is multiplied by 0.1 and the length of the edge, air damping by 0.01. Springs are not damped.
Mass, stiffness and air are all multiplied by SCALE, so that they lie where its settings do; that leaves the motion
alone. Every vertex has the same mass.
"""

from __future__ import annotations

import bpy
import numpy as np
from problem import FRAME_S, Problem, Running, fitting, serve, some

USUAL_STEPS = 5  # "quality" of a new cloth modifier
FINE_STEPS = 32
FITTING = [1, 2, 3, 4, 5, 6, 7, 10, 12]  # not 8: its loop over steps, in float32, then takes one too many
SCALE = 50.0
UNIT_S = 0.001**0.5


def start(problem: Problem, steps: int) -> Running:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.gravity = (0.0, 0.0, -problem.gravity)
    scene.frame_start, scene.frame_end = 1, 250
    mesh = bpy.data.meshes.new("cloth")
    x = problem.vertices
    mesh.from_pydata(np.column_stack([x[:, 0], -x[:, 2], x[:, 1]]).tolist(), [], problem.triangles.tolist())
    thing = bpy.data.objects.new("cloth", mesh)
    scene.collection.objects.link(thing)
    thing.vertex_groups.new(name="held").add(problem.pinned.tolist(), 1.0, "REPLACE")
    cloth = thing.modifiers.new("cloth", "CLOTH")
    settings = cloth.settings
    ends = x[problem.edges]
    mean = float(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).mean())
    settings.quality = steps
    settings.time_scale = FRAME_S / UNIT_S
    stiff = SCALE * UNIT_S**2
    settings.mass = SCALE * float(problem.masses.sum() / problem.n)
    settings.air_damping = problem.air * UNIT_S * settings.mass / 0.01
    settings.tension_stiffness = settings.compression_stiffness = stiff * problem.stretch * mean
    settings.tension_damping = settings.compression_damping = 0.0
    settings.shear_stiffness = settings.shear_damping = 0.0
    settings.bending_model = "ANGULAR"
    settings.bending_stiffness = stiff * 3 * problem.bend / (0.1 * problem.spacing)
    settings.bending_damping = 0.0
    settings.vertex_group_mass = "held"
    settings.pin_stiffness = 1.0
    cloth.collision_settings.use_collision = False
    cloth.collision_settings.use_self_collision = False
    cloth.point_cache.frame_start, cloth.point_cache.frame_end = 1, 250
    scene.frame_set(1)
    buffer = np.empty(3 * problem.n, np.float32)

    def frame() -> None:
        scene.frame_set(scene.frame_current + 1)
        seen = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
        seen.data.vertices.foreach_get("co", buffer)

    def positions() -> np.ndarray:
        y = buffer.reshape(-1, 3)
        return np.column_stack([y[:, 0], y[:, 2], -y[:, 1]])

    return Running(frame, positions, some(steps, "step"))


def fit(problem: Problem):
    work = fitting(lambda k: start(problem, k), FITTING)
    return lambda: start(problem, work)


SETTINGS = {
    "usual": lambda problem: lambda: start(problem, USUAL_STEPS),
    "fine": lambda problem: lambda: start(problem, FINE_STEPS),
    "fit": fit,
}

if __name__ == "__main__":
    serve("Blender", lambda: bpy.app.version_string, SETTINGS, threads=2)
