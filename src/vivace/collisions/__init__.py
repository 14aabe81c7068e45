"""What bodies bump into: things that stand in a scene, and the surfaces of the bodies themselves.

    from vivace.collisions import Plane, Sampled, armchair, penetration

    things = [Plane(), *armchair(), Sampled.of(vv.mesh.load("statue.obj"))]  # Sphere, Box, Capsule, table, tube, too
    model = model.collide(things, thickness=0.004, friction=(0.4, 0.3), itself=True)  # itself: cloth against cloth
    sim = vv.Simulation(model, solver="pbd-coloured", time_step=1 / 60)  # sim.step() now keeps them apart
    penetration(things, sim.positions).max()  # m: how deep the deepest vertex is

`ColliderSearch` and `Surfaces` are the searches behind it, for use without a simulation; `crossings` finds what went
through.
"""

from typing import Any

from ..deprecation import warn
from .animated import AnimatedMesh
from .collider_contacts import ColliderSearch, penetration
from .colliders import Box, Capsule, Collider, Plane, Sphere
from .convex import ConvexMesh
from .crossings import crossings
from .furniture import armchair, table, tube
from .sampled import Sampled
from .settings import Collisions
from .surfaces import Surfaces

__all__ = [
    "AnimatedMesh",
    "Box",
    "Capsule",
    "Collider",
    "ColliderSearch",
    "Collisions",
    "ConvexMesh",
    "Plane",
    "Sampled",
    "Sphere",
    "Surfaces",
    "armchair",
    "crossings",
    "penetration",
    "table",
    "tube",
]


def __getattr__(name: str) -> Any:
    if name == "Walls":
        warn("vivace.collisions.Walls", "vivace.collisions.ColliderSearch")
        return ColliderSearch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
