"""Position based dynamics on the same models: stiffness as compliance, and as the number between 0 and 1.

`pbd-coloured` moves vertices until the constraints hold, a colour of constraints at a time. By default each
constraint has the compliance of its stiffness in the model, so a rope stretches by its load over its stiffness,
whatever the number of iterations. With `stiffness=0.5` every correction is halved instead, as in the early papers:
how stiff that is depends on the iterations.
"""

import numpy as np

import vivace as vv

LINKS, STRETCH, DENSITY, GRAVITY = 10, 200.0, 1.0, 9.81  # links of 0.1 m, N/m each, kg/m


def lengths(solver, iterations):
    """Lengths (m) of the links of a hanging rope at rest, from the top."""
    vertices = np.outer(np.arange(LINKS + 1), [0.0, -0.1, 0.0])
    rope = vv.mesh.Mesh.from_edges(vertices, [(k, k + 1) for k in range(LINKS)])
    model = vv.Model.of(rope, vv.Wire(density=DENSITY, stretch=STRETCH), air=5.0).pin([0])
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=iterations), time_step=1 / 60)
    for _ in range(240):
        sim.step()
    return np.linalg.norm(np.diff(sim.positions.astype(float), axis=0), axis=1)


def test_final() -> None:
    """Compliant links are longer by the weight below each over its stiffness; the others by what iterations leave."""
    weight = DENSITY * GRAVITY * 0.1 * (LINKS - np.arange(LINKS) - 0.5)  # N on each link: half of its own included
    few, many = (lengths("pbd-coloured", iterations) for iterations in (10, 40))
    print(f"compliance: {few.sum():.5f} and {many.sum():.5f} m, by Hooke's law {np.sum(0.1 + weight / STRETCH):.5f} m")
    assert np.abs(few - many).max() < 1e-6
    assert np.abs(many - 0.1 - weight / STRETCH).max() < 1e-5

    few, many = (lengths("pbd-coloured:stiffness=0.5", iterations) - 0.1 for iterations in (10, 40))
    print(f"stiffness=0.5: longer by {1e3 * few.sum():.1f} mm with 10 iterations, {1e3 * many.sum():.1f} with 40")
    assert many.min() > 0
    assert few.sum() > 3 * many.sum()


if __name__ == "__main__":
    test_final()
