"""Wind: the pressure of moving air on a surface.

A triangle of area A and unit normal n, past which air moves at u = wind - its mean velocity, is a plate that feels

    F = ½ ρ C A |u·n| (u·n) n,     a third of it at each corner,

ρ the density of air and C the coefficient of a flat plate across the wind [hoerner1965, section 3]. Of a closed body
the side in the wind has the pressure and the other the suction, half of C each.

In a step of h seconds that force, held, could do more than stop u·n, and light cloth in a gale would fly up in ever
larger zigzags. So it is taken semi-implicitly, divided by 1 + h k/m with k = ½ρC A |u·n|: F h stays below m u·n,
however strong the wind. m = 3 min m_i/d_i over the corners, d_i their numbers of triangles: then the shares of a
corner's own triangles add up to at most one, and no vertex is made faster than the air that passes it. (On a sheet of
equal triangles, m is the mass of a triangle.)

Still air is not wind: `Model.air` is what slows a body down without any.
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.arguments import Phase
from ..energy.kernels.assemble import list_corners
from ..model.model import Model
from .kernels.wind import blow, press

AIR_DENSITY = 1.2  # kg/m³, at 20 °C
PLATE = 1.17  # of a square plate or a disk


class Wind:
    """What the wind does to a model's surface. Without triangles there is no surface, and no wind.

    `total` (n, 4): accelerations (m/s²) with the wind's, after `phases` have run.
    """

    def __init__(self, model: Model, h: float, per_velocity: float):
        n, triangles = model.n, np.ascontiguousarray(model.mesh.triangles, np.int32)
        counts = np.maximum(np.bincount(triangles.ravel(), minlength=n), 1)
        light = 3.0 * (model.masses / counts)[triangles].min(axis=1) if len(triangles) else np.zeros(0)
        with np.errstate(over="ignore"):
            self._lag, self._share = (h / light).astype(np.float32), (1.0 / (3.0 * model.masses)).astype(np.float32)
        self._starts, corners, _ = list_corners(triangles.ravel(), n)
        self._triangles, self._incident = triangles.ravel(), corners // np.int32(3)
        self._force, self.total = np.zeros((len(triangles), 4), np.float32), np.zeros((n, 4), np.float32)
        coefficient = 0.25 * AIR_DENSITY * PLATE * (0.5 if model.mesh.is_volumetric else 1.0)
        self._settings = np.array([0, 0, 0, per_velocity, coefficient], np.float32)

    def set(self, velocity: np.ndarray) -> None:
        """The velocity of the air (3,), m/s."""
        self._settings[:3] = velocity

    def phases(self, q: np.ndarray, v: np.ndarray, acceleration: np.ndarray) -> list[Phase]:
        """Steps that write `total`, from positions, velocities and accelerations without wind (n, 4)."""
        surface = {"triangles": self._triangles, "lag": self._lag, "settings": self._settings, "force": self._force}
        around = {"starts": self._starts, "incident": self._incident, "force": self._force, "share": self._share}
        return [
            press.over(0, len(self._force), q=q, v=v, **surface),
            blow.over(0, len(self.total), acceleration=acceleration, total=self.total, **around),
        ]
