"""A hyperelastic material of one's own, in one's own file: Yeoh's rubber, of one function.

The function is the energy per volume, of the invariants I1 = tr C, I2 = ((tr C)² - tr C²)/2 and J = det F of the
deformation C = FᵀF, and of the material's constants. It is compiled; its derivatives are made by differences, unless
they are given (`gradient=`, `hessian=`), when they are held to differences first. Run this file to see a cube of it
pulled to twice its height.
"""

import numpy as np

import vivace as vv


@vv.hyperelastic_material("yeoh")
def yeoh(I1, I2, J, c1=2e4, c2=-1e3, c3=2e2, bulk=1e7):
    """Three terms of the first invariant of what is left without the change of volume."""
    x = I1 * J ** (-2 / 3) - 3
    return c1 * x + c2 * x**2 + c3 * x**3 + bulk / 2 * (J - 1) ** 2


class Traction(vv.Term):
    """A stress (Pa of the area at rest) that pulls a side of a body upwards."""

    def __init__(self, mesh, side, stress):
        on = np.isin(mesh.triangles, mesh.groups[side]).all(axis=1)
        thirds = np.repeat(mesh.triangle_areas()[on] / 3, 3)
        self.forces = stress * np.bincount(mesh.triangles[on].ravel(), thirds, minlength=mesh.n_vertices)

    def energy(self, q, frame):
        return -float(self.forces @ q[:, 1])

    def add_gradient(self, q, frame, out):
        out[:, 1] -= self.forces


def test_final() -> None:
    """Pulled as hard as an incompressible cube has to be to become twice as high, ours does so to one per cent."""
    stretch = 2.0
    x = stretch**2 + 2 / stretch - 3
    stress = 2 * (stretch - stretch**-2) * (2e4 - 2 * 1e3 * x + 3 * 2e2 * x**2)
    cube = vv.mesh.bar(3, 3, 3, size=(0.1, 0.1, 0.1))
    model = vv.Model.of(cube, yeoh(density=1100.0), gravity=(0, 0, 0), air=100.0)
    model = model.add(Traction(cube, "top", stress), Traction(cube, "bottom", -stress))
    sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=30, tolerance=1e-8), time_step=1.0)
    for _ in range(20):
        sim.step()
    found = np.ptp(sim.positions[:, 1]) / 0.1
    print(f"{stress / 1e3:.1f} kPa make the cube {found:.3f} times as high; incompressible, {stretch:.3f} times")
    assert abs(found / stretch - 1) < 0.01


if __name__ == "__main__":
    test_final()
