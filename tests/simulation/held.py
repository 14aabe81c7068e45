"""A sheet to take hold of, and how near to a target what is held must be."""

from vivace import Cloth, Model, mesh

SOLVERS = ["vivace", "pbd-coloured"]
DOWN = (0.0, -1.0, 0.0)


def sheet(pinned=True) -> Model:
    """A horizontal cloth of 5 x 5 vertices, 25 cm apart: vertex 5 j + i at x = i/4 - 1/2, z = j/4 - 1/2."""
    model = Model.of(mesh.cloth(5, 5), Cloth(density=1.0, stretch=500.0))
    return model.pin("top") if pinned else model


def slack(sim) -> float:
    """How far a pin may give way: a pin of projective dynamics is 30 times as stiff as what pulls at it."""
    return 1e-6 if sim.solver.name.startswith("pbd") else 0.02
