"""A constraint of one's own, in one's own file: ropes that go slack.

A spring pushes back when it is compressed; a rope does not. A dozen lines define it, one decorator registers it, and
every solver runs it at compiled speed. Here a net of ropes, held at its border, carries a load in its middle.
"""

import numpy as np

import vivace as vv

LOAD, KNOT, GRAVITY = 5.0, 0.01, np.array([0.0, -9.81, 0.0])  # N on the middle, kg of each vertex, m/s²


@vv.constraint("rope", vertices=2, rows=1, parameters=("length",), unit="N/m")
class Rope:
    """Resists being longer than its length, and nothing else; stiffness in N/m."""

    @staticmethod
    def prepare(rest, slack=1.0):
        # rest: (m, 2, 3), where the two ends of each rope are at rest. z = A q is their difference.
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


def test_final() -> None:
    """A rope pulls by stiffness x (size - length) and never pushes: at rest that carries load and weight everywhere."""
    net = vv.mesh.cloth(13, 13)
    border = np.unique(np.concatenate([net.groups[side] for side in ("left", "right", "top", "bottom")]))
    model = vv.Model(net, np.full(net.n_vertices, KNOT), (), GRAVITY, air=5.0).pin(border)
    model = model.constrain("rope", net.edges, stiffness=1e3, slack=1.05)
    forces = np.zeros((model.n, 3))
    forces[model.n // 2, 1] = -LOAD
    sim = vv.Simulation(model, budget=vv.Budget(iterations=60), substeps=1)
    sim.apply_forces(forces)
    for _ in range(200):
        sim.step()
    ropes = np.diff(sim.positions[net.edges].astype(float), axis=1)[:, 0]  # from the first end to the second
    size, length = np.linalg.norm(ropes, axis=1), model.groups[-1].parameters[:, 0]
    pulls = (1e3 * np.maximum(size - length, 0.0) / size)[:, None] * ropes
    np.add.at(forces, net.edges[:, 0], pulls)
    np.subtract.at(forces, net.edges[:, 1], pulls)
    left = np.delete(forces + KNOT * GRAVITY, border, axis=0)
    print(f"unbalanced: {np.abs(left).max():.1e} N at most; {np.mean(size < length):.0%} of the ropes are slack")
    assert np.abs(left).max() < 0.01 * LOAD
    assert (size < 0.99 * length).any()


if __name__ == "__main__":
    test_final()
