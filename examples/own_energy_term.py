"""An energy of one's own, in one's own file: a body of St. Venant and Kirchhoff's hyperelastic material.

No projection is known for it, so it cannot be a constraint of projective dynamics. As a term it is an energy and its
gradient, and `newton` takes it. Run this file to see a bar stretch under its own weight, by what the textbook says.
"""

import numpy as np

import vivace as vv

DENSITY, YOUNG, LENGTH = 1000.0, 2e5, 0.5  # kg/m³, Pa, m


class StVenantKirchhoff(vv.ElementTerm):
    """Σ volume (μ ‖E‖² + λ/2 tr(E)²) over tetrahedra, with Green's strain E = (FᵀF - I)/2."""

    def __init__(self, mesh, youngs_modulus, poisson_ratio=0.0):
        super().__init__(mesh.tets)
        self.mu, self.lam = vv.Solid(youngs_modulus=youngs_modulus, poisson_ratio=poisson_ratio).lame
        self.volumes, self.inverse = mesh.tet_volumes(), np.linalg.inv(edges(mesh.vertices[mesh.tets]))

    def strains(self, x):
        f = edges(x) @ self.inverse
        e = 0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(3))
        return f, e, np.trace(e, axis1=1, axis2=2)

    def energies(self, x):
        _, e, trace = self.strains(x)
        return self.volumes * (self.mu * np.sum(e**2, axis=(1, 2)) + 0.5 * self.lam * trace**2)

    def gradients(self, x):
        f, e, trace = self.strains(x)
        stress = f @ (2 * self.mu * e + self.lam * trace[:, None, None] * np.eye(3))
        corners = self.volumes[:, None, None] * self.inverse @ np.swapaxes(stress, 1, 2)
        return np.concatenate([-corners.sum(axis=1, keepdims=True), corners], axis=1)


def edges(x):
    """[x1 - x0, x2 - x0, x3 - x0] as columns, (m, 3, 3)."""
    return np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)


def test_final() -> None:
    """A hanging bar is longer by ρ g L²/(2 E) (1 - ρ g L/E), to the third order in ρ g L/E = 2.5 %."""
    bar = vv.mesh.bar(12, 3, 3, size=(LENGTH, 0.1, 0.1))
    model = vv.Model(bar, vv.Solid(density=DENSITY).masses(bar), (), np.array([9.81, 0.0, 0.0]), air=20.0)
    model = model.add(StVenantKirchhoff(bar, YOUNG)).pin("left", stiffness=1e6)
    sim = vv.Simulation(model, solver="newton", budget=vv.Budget(tolerance=1e-6), time_step=0.1)
    reports = [sim.step() for _ in range(30)]
    left, right = (sim.positions[bar.groups[end], 0].mean() for end in ("left", "right"))
    strain = DENSITY * 9.81 * LENGTH / YOUNG
    longer, expected = right - left - LENGTH, 0.5 * strain * (1 - strain) * LENGTH
    print(f"longer by {1e3 * longer:.2f} mm, by the textbook {1e3 * expected:.2f} mm")
    assert abs(longer / expected - 1) < 0.005
    assert reports[-1].stopped == "tolerance"


if __name__ == "__main__":
    test_final()
