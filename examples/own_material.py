"""A material of one's own, in one's own file: a net whose threads are stiffer down than across.

A material turns a mesh into masses (kg) and constraints. `make_group` makes constraints of any registered type; here
one group of springs for the threads across and one for those down, and none for the diagonals of the mesh.
Registered, and with numbers as its fields, it is also `kind = "net"` of a scene file's [material] table.
"""

from dataclasses import dataclass

import numpy as np

import vivace as vv
from vivace.constraints import make_group


@vv.MATERIALS.register("net")
@dataclass(frozen=True)
class Net:
    """Threads along the sides of a grid."""

    knot: float = 0.01  # mass of each vertex (kg)
    across: float = 20.0  # stiffness of each thread from side to side (N/m)
    down: float = 100.0  # and of each from top to bottom

    def masses(self, mesh):
        return np.full(mesh.n_vertices, self.knot)

    def constraints(self, mesh):
        along = np.abs(np.diff(mesh.vertices[mesh.edges], axis=1)[:, 0])  # m in x, y and z
        threads = (self.across, along[:, 1] == 0), (self.down, along[:, 0] == 0)
        return [make_group("spring", mesh.vertices, mesh.edges[some], stiffness) for stiffness, some in threads]


def longer(side, gravity, n=7):
    """By how much (m) a net of n x n knots is longer when it hangs by one side, along gravity."""
    material = vv.MATERIALS["net"]()
    model = vv.Model.of(vv.mesh.cloth(n, n, plane="vertical"), material, gravity=gravity, air=10.0).pin(side)
    sim = vv.Simulation(model, budget=vv.Budget(iterations=30), time_step=1 / 30)
    for _ in range(200):
        sim.step()
    return np.ptp(sim.positions @ gravity) / 9.81 - 1.0


def test_final() -> None:
    """A thread carries what hangs from it: a net is longer by Σ k m g / stiffness = m g n (n - 1) / 2 / stiffness."""
    load = 0.01 * 9.81 * 7 * 6 / 2
    by_top, by_left = longer("top", np.array([0.0, -9.81, 0.0])), longer("left", np.array([9.81, 0.0, 0.0]))
    print(f"longer by {by_top:.4f} m down its threads, by {by_left:.4f} m across")
    assert abs(by_top - load / 100.0) < 1e-4
    assert abs(by_left - load / 20.0) < 1e-4


if __name__ == "__main__":
    test_final()
