"""A sweep over parameters: every combination of stiffnesses and substeps, made by all cores, in one table.

`vivace.sweep` makes the runs in processes of their own and returns a pandas DataFrame: the values, the figures that
`vivace run` prints, and those that a function of one's own makes of each run. With a budget of iterations a run gives
the same numbers whatever the machine is busy with. The same from a shell, kept in a folder and resumed after Ctrl-C:

    vivace sweep tablecloth --vary stretch=1e2:1e4:log:3 --vary substeps=2,4,8 --iterations 40 --out results
"""

import numpy as np

import vivace as vv
from vivace.bench import energies

STIFFNESSES, SUBSTEPS = (1e2, 1e3, 1e4), (2, 4, 8)


def balance(run):
    """Figures of one's own: energy lost until the end, and the most that was gained in a frame (J)."""
    energy = energies(run.scene.model, run.trajectory())  # kinetic, elastic and gravitational, after each frame
    return {"lost": energy[0] - energy[-1], "gained": np.diff(energy).max()}


def test_final() -> None:
    """Implicit Euler gains no energy, and loses about half as much in half the step; stiffer cloth stretches less."""
    table = vv.sweep(
        "tablecloth",
        {"stretch": STIFFNESSES, "substeps": SUBSTEPS},
        parameters={"resolution": 12, "air": 0.0},
        budget=vv.Budget(iterations=80),
        frames=12,
        measure=balance,
    )
    print(table[["stretch", "substeps", "stretch_rms", "lost"]])

    assert len(table) == 9
    assert table["error"].isna().all()
    assert table["gained"].max() < 1e-6
    for _, of_stiffness in table.groupby("stretch"):
        lost = of_stiffness["lost"].to_numpy()
        assert (lost[:-1] > 1.4 * lost[1:]).all()
        assert (lost[:-1] < 2.2 * lost[1:]).all()
    for _, of_substeps in table.groupby("substeps"):
        drawn = of_substeps["stretch_rms"].to_numpy()
        assert (drawn[:-1] > 2 * drawn[1:]).all()


if __name__ == "__main__":
    test_final()
