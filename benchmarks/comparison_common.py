"""What the parts of `comparison.py` share: scenes, frozen frames, sizes, and telling how far they are."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import vivace as vv
from vivace.bench.compare import Curve
from vivace.bench.frozen import Frozen, compare_frozen, freeze, sweep_counts
from vivace.scenes import Scene, make_scene

SMALLEST = "lbfgs(multigrid)"  # the smallest energy errors of those that solve a step by projective dynamics
RHO = {"tablecloth": 0.9999, "armadillo": 0.9992}  # [fratarcangeli2018, Table 1]
Names = Mapping[str, str]
Values = dict[str, str]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    cloth: int = 100  # vertices a side
    newton_cloth: int = 50
    body: int = 43
    frame: int = 15  # the frozen one
    budgets: tuple[float, ...] = (4.0, 8.0, 15.0, 25.0)
    frames: int = 60
    samples: int = 5
    most: int = 240  # iterations
    newton: tuple[int, ...] = (1, 2, 4, 8)
    repeat: int = 3
    tuned: str = ""  # options of a Chebyshev solver that tunes its ρ
    picture: tuple[int, int] = (640, 600)
    renderer: str = "auto"

    @property
    def told(self) -> tuple[int, int, int]:
        """Numbers of iterations that the tables show."""
        return self.most // 24, self.most // 4, self.most

    @property
    def counts(self) -> list[int]:
        """Numbers of iterations that the plots show."""
        return sorted({*sweep_counts(self.most), *self.told})


QUICK = Size(
    *(8, 6, 16, 2, (1.0, 2.0), 4, 2, 24, (1, 2), 1),
    tuned=":horizon=4",
    picture=(160, 150),
    renderer="painter",
)


class Study:
    """What the parts share: the two scenes, their frozen frames, and where things go."""

    def __init__(self, folder: Path, armadillo: str | None, quick: bool):
        self.folder, self.quick, self.size = folder, quick, QUICK if quick else Size()
        self.cloth = make_scene("tablecloth", resolution=self.size.cloth)
        own = {"path": armadillo} if armadillo else {"resolution": self.size.body}
        self.body = make_scene("armadillo", **own)
        kind = "from the file given" if armadillo else "generated stand-in"
        cloth, body = self.cloth.model, self.body.model
        self.settings = {
            "version": vv.__version__,
            "threads": self.cloth.simulate(solver="jacobi").threads,
            "tablecloth": f"{cloth.n:,} vertices, {len(cloth.mesh.triangles):,} triangles",
            "armadillo": f"{kind}, {body.n:,} vertices, {len(body.mesh.tets):,} tetrahedra",
            "quick": quick,
        }

    @cached_property
    def frozen_cloth(self) -> Frozen:
        return freeze(self.cloth, self.size.frame, progress=tell)

    @cached_property
    def frozen_body(self) -> Frozen:
        return freeze(self.body, self.size.frame, progress=tell)

    def frozen(self) -> tuple[Frozen, Frozen]:
        return self.frozen_cloth, self.frozen_body

    def path(self, name: str) -> Path:
        return self.folder / "figures" / f"comparison_{name}.png"

    def chebyshev(self, inner: str) -> str:
        """Chebyshev over `inner`, its ρ tuned when it is prepared."""
        return f"chebyshev({inner}){self.size.tuned}"

    def solve(self, frozen: Frozen, solvers: Sequence[str], counts: Sequence[int] | None = None) -> list[Curve]:
        """The frozen frame after growing numbers of iterations."""
        counts = self.size.counts if counts is None else counts
        return compare_frozen(frozen, solvers, iterations=counts, repeat=self.size.repeat, progress=tell)


def papers(scene: Scene, options: str = "") -> str:
    """Chebyshev over Jacobi with the course's ρ, and nothing that saves it from diverging."""
    return f"chebyshev(jacobi):rho={RHO[scene.name]},watch=False{options}"


def tell(what: str, done: int, total: int) -> None:
    """Progress: a line on standard error whenever something else begins."""
    if what != tell.last:  # type: ignore[attr-defined]
        print(what, file=sys.stderr, flush=True)
        tell.last = what  # type: ignore[attr-defined]


tell.last = ""  # type: ignore[attr-defined]
