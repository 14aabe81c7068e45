"""Springs: E = w/2 (|q_i - q_j| - l)², the implicit mass-spring system of [liu2013]."""

from __future__ import annotations

import numpy as np

from ..checks import is_number, shown
from ..errors import InputError
from ..kernels.gradients import stretch
from .base import Prepared, Role, constraint


@constraint("spring", vertices=2, rows=1, parameters=("rest_length",), role=Role.SPRING, gradients=stretch, unit="N/m")
class Spring:
    """Keeps two vertices at their rest distance; stiffness in N/m."""

    @staticmethod
    def prepare(rest, scale=1.0):
        length = np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
        if (length <= 0).any():
            raise InputError(f"spring {int(np.argmin(length))} has no length at rest: its two vertices coincide")
        if not is_number(scale) or scale < 0:
            raise InputError(f"the scale of rest lengths must be finite and not negative, not {shown(scale)}")
        return Prepared(operator=[[1.0, -1.0]], parameters=scale * length[:, None])

    @staticmethod
    def project(z, parameters, p):
        # p = l z / |z|  [fratarcangeli2018, section 1.3.3]. The energy printed there, k (|d| - r), lacks its square and
        # its half; the system that follows it is the one of k/2 (|d| - r)², with signs: A = [1, -1], not [1, 1].
        size = np.sqrt(z[0, 0] * z[0, 0] + z[0, 1] * z[0, 1] + z[0, 2] * z[0, 2])
        scale = parameters[0] / max(size, np.float32(1e-10))
        for c in range(3):
            p[0, c] = scale * z[0, c]
