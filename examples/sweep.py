"""A sweep over parameters: every combination of a few stiffnesses and substeps, one line each in a table.

`make_scene` makes a named scene with some of its parameters changed, and `run_scene` runs it warm and records it.
With a budget of iterations a run gives the same numbers whatever the machine is busy with; with one of milliseconds
it would tell what the machine can do in that time. `vivace compare` makes such tables of solvers and budgets, with
plots.
"""

from itertools import product

import numpy as np

import vivace as vv
from vivace.bench import energies, run_scene

STIFFNESSES, SUBSTEPS = (1e2, 1e3, 1e4), (2, 4, 8)


def measure(stretch, substeps):
    """Swing a cloth for 0.4 s without air: RMS stretch of its springs, energy lost (J), most gained in a frame."""
    scene = vv.make_scene("tablecloth", resolution=12, stretch=stretch, air=0.0)
    budget = vv.Budget(iterations=10 * substeps)
    run = run_scene(scene, budget=budget, substeps=substeps, frames=12, error_samples=0, record=True)
    energy = energies(scene.model, run.trajectory())  # kinetic, elastic and gravitational, after each frame
    return run.drawn().rms, energy[0] - energy[-1], np.diff(energy).max()


def test_final() -> None:
    """Implicit Euler gains no energy, and loses about half as much in half the step; stiffer cloth stretches less."""
    table = {pair: measure(*pair) for pair in product(STIFFNESSES, SUBSTEPS)}
    print("stretch N/m  substeps  stretched by  energy lost")
    for (stretch, substeps), (drawn, lost, _) in table.items():
        print(f"{stretch:11g}  {substeps:8}  {drawn:12.3%}  {lost:9.4f} J")

    assert max(gained for _, _, gained in table.values()) < 1e-6
    for stretch in STIFFNESSES:
        lost = np.array([table[stretch, substeps][1] for substeps in SUBSTEPS])
        assert (lost[:-1] > 1.4 * lost[1:]).all()
        assert (lost[:-1] < 2.2 * lost[1:]).all()
    for substeps in SUBSTEPS:
        drawn = np.array([table[stretch, substeps][0] for stretch in STIFFNESSES])
        assert (drawn[:-1] > 2 * drawn[1:]).all()


if __name__ == "__main__":
    test_final()
