"""The shortest way in: a cloth, what it is made of, two pins, a budget."""

import vivace as vv

cloth = vv.mesh.cloth(60, 60, width=1.0, height=1.0)
model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3, bend=1e-4), air=0.5).pin("top-corners")
sim = vv.Simulation(model, budget=vv.Budget(ms=8), time_step=1 / 30)
for _ in range(60):
    report = sim.step()


def test_final() -> None:
    """The pins hold within (weight + swing) / stiffness of their targets, and the last report adds up."""
    import numpy as np

    held = sim.positions[model.pinned]
    assert np.abs(held - model.targets).max() < 1e-3
    assert report.number == 60
    assert report.finite
    assert report.sweeps >= 1
    assert set(report.stages) == {"predict", "collide", "colour", "solve", "guard", "update"}


if __name__ == "__main__":
    print(f"{report.sweeps} sweeps, {report.ms:.2f} ms, residual {report.residual:.3g} N, energy {report.energy:.3g} J")
    print(f"lowest point {sim.positions[:, 1].min():.3f} m")
