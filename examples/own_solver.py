"""A solver of one's own, in one's own file: projective dynamics by SciPy's sparse factorisation, in float64.

`system.around(start, constant)` is the step's problem, q ↦ (ε(q), ∇ε(q)), and `system.matrix` is Y, the constant
matrix of projective dynamics. With projections held, ε is a parabola with that matrix, and q - Y⁻¹ ∇ε(q) is its
minimum: "project, then solve exactly", in one line. It lies above ε, so no iteration can raise the energy. Two
methods and a decorator, and the name works in simulations and scene files.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import splu

import vivace as vv


@vv.SOLVERS.register("scipy-direct")
@dataclass(eq=False)
class ScipyDirect(vv.Solver):
    """Projective dynamics by SciPy's factorisation of Y.

    Limitations: no contacts, no constraints known by their value; it hovers, as all do that invert Y.
    """

    length: float = 1.0  # share of the step that is taken, (0, 2): an option, "scipy-direct:length=0.5"
    name = "scipy-direct"

    def prepare(self, system, *, threads, seed):
        self.system, self.factors = system, splu(system.matrix.tocsc())  # once, not in every step

    def solve(self, start, constant, out, deadline):
        q, self.energies, stopped = start[:, :3].astype(float), [], ""
        evaluate = self.system.around(q.copy(), constant[:, :3].astype(float))
        while not stopped:
            energy, gradient = evaluate(q)
            self.energies.append(energy)
            q -= self.length * self.factors.solve(gradient)
            stopped = deadline.reached(len(self.energies))
        out[:, :3] = q
        return vv.Outcome(len(self.energies), float(np.linalg.norm(gradient)), stopped)


def test_final() -> None:
    """From one state: ε never rises, `direct` does the same in float32, and the default gets to the minimum."""
    model = vv.Model.of(vv.mesh.cloth(20, 20), vv.Cloth(bend=0), air=1.0).pin("top-corners")
    left = {}
    for name in ("scipy-direct", "direct", "auto"):
        sim = vv.Simulation(model, solver=name, budget=vv.Budget(iterations=30), substeps=1)
        left[name] = sim.step().relative_error  # (ε - ε*) / (ε⁰ - ε*): 1 at the first guess, 0 at the minimum
        assert name != "scipy-direct" or np.diff(sim.solver.energies).max() <= 0
    print({name: f"{error:.1e} of what there was to gain is left" for name, error in left.items()})
    assert left["auto"] < 1e-4 < left["scipy-direct"] < 0.2
    assert abs(left["scipy-direct"] - left["direct"]) < 1e-3


if __name__ == "__main__":
    test_final()
