"""A constraint of one's own, in one's own file: ropes that go slack.

A spring pushes back when it is compressed; a rope does not. A dozen lines define it, one decorator registers it, and
every solver runs it at compiled speed. Run this file to see a weight bounce on a net of ropes.
"""

import numpy as np

import vivace as vv


@vv.constraint("rope", vertices=2, rows=1, parameters=("length",), unit="N/m")
class Rope:
    """Resists being longer than its length, and nothing else; stiffness in N/m."""

    @staticmethod
    def prepare(rest, slack=1.0):
        # rest: (m, 2, 3), where the two vertices of each rope are at rest. z = A q is their difference.
        length = slack * np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
        return vv.Prepared(operator=[[1.0, -1.0]], parameters=length[:, None])

    @staticmethod
    def project(z, parameters, p):
        # The nearest difference that is not too long. Compiled by Numba: plain loops and arithmetic are best.
        size = np.sqrt(z[0, 0] ** 2 + z[0, 1] ** 2 + z[0, 2] ** 2)
        scale = 1.0
        if size > parameters[0]:
            scale = parameters[0] / size
        for c in range(3):
            p[0, c] = scale * z[0, c]


class Net:
    """A material that holds together by nothing but ropes."""

    def masses(self, mesh):
        return np.full(mesh.n_vertices, 0.01)

    def constraints(self, mesh):
        return []


def make_simulation(n: int = 21, **options) -> vv.Simulation:
    """A square net, held at its border, with a load on its middle."""
    sheet = vv.mesh.cloth(n, n)
    border = np.unique(np.concatenate([sheet.groups[side] for side in ("left", "right", "top", "bottom")]))
    model = vv.Model.of(sheet, Net(), air=2.0).constrain("rope", sheet.edges, stiffness=1e3, slack=1.05).pin(border)
    # Ropes go slack and taut: on a net this small, fresh projections for every sweep pay.
    solver = ("vivace", {"refresh": 1})
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=400, tolerance=1e-4), **options)
    forces = np.zeros((model.n, 3))
    forces[model.n // 2] = 0.0, -5.0, 0.0  # newtons on the middle vertex
    sim.apply_forces(forces)
    return sim


def run(frames: int = 300, **options) -> vv.Simulation:
    sim = make_simulation(**options)
    for _ in range(frames):
        sim.step()
    return sim


def test_final() -> None:
    """At rest the ropes that carry are stretched by tension / stiffness, and none pushes: the net only ever pulls."""
    sim = run(frames=400)
    ropes = sim.model.groups[0]
    ends = sim.positions[ropes.vertices].astype(float)
    size = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    tension = ropes.weights * np.maximum(size - ropes.parameters[:, 0], 0.0)
    assert tension.max() > 0.1, "the load must be carried by something"
    # The forces on the middle vertex balance: load + weight + the pull of its ropes = 0.
    middle = sim.model.n // 2
    pull = np.zeros(3)
    for (i, j), (a, b), force in zip(ropes.vertices, ends, tension, strict=True):
        if middle in (i, j):
            pull += force * ((b - a) if i == middle else (a - b)) / np.linalg.norm(a - b)
    load = np.array([0.0, -5.0 - 0.01 * 9.81, 0.0])
    assert np.linalg.norm(pull + load) < 0.02 * np.linalg.norm(load), (pull, load)


if __name__ == "__main__":
    final = run()
    print(f"lowest point {final.positions[:, 1].min():.3f} m after {final.time:.1f} s")
    test_final()
    print("in balance")
