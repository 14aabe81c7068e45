"""Force against stretch of a box, pulled and pressed, against the curve of its material [fratarcangeli2018, Fig. 20].

    python benchmarks/force_stretch.py [--out force_stretch.png]

Both ends of a box are held by grips that bring it to a stretch; its sides are free. Steps without inertia
(`integrator="quasi-static"`) lead to equilibrium. The grips' width is found for which they carry no force sideways:
then all of the box is stretched alike. What is told is how far the force at a grip is from the material's own curve
(`vivace.hyperelastic.uniaxial`). Without conversion, and only where that curve rises: elsewhere a box is not stable.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import newton

from vivace import Budget, Model, Simulation, mesh
from vivace.hyperelastic import HYPERELASTIC, uniaxial
from vivace.model.materials import MATERIALS
from vivace.pictures.plots import Panel, panel_grid

SIZE = (0.4, 0.2, 0.2)
CURVE = "closed form"
FIRM = 10.0  # times as stiff as pins are otherwise; more, and float32 positions could not tell their forces
NEAR = 1e-4  # of a width, relative
WITHIN = 1.04  # how far from where a curve ends its last point is: grips give way a little
WIDER = 1.01  # the secant method's second guess


class Gripped:
    """A box between grips, in the middle of which it is at rest.

    Args:
        material: of the box.
        n: vertices across.
        solver: that finds its equilibria.
        budget: of a step.
        steps: that an equilibrium may take.
    """

    def __init__(self, material: object, n: int, solver: str, budget: Budget, steps: int):
        self.body = mesh.bar(2 * n - 1, n, n, SIZE)
        base = Model.of(self.body, material, gravity=(0, 0, 0))
        self.stiffness, self.steps = FIRM * base.pin_stiffness, steps
        ends = np.union1d(self.body.groups["left"], self.body.groups["right"])
        model = base.pin(ends, stiffness=self.stiffness)
        self.ends, self.rest = model.pinned, self.body.vertices[model.pinned]
        self.sim = Simulation(model, solver=solver, budget=budget, integrator="quasi-static")
        self.width = 1.0

    def held(self, stretch: float, width: float) -> np.ndarray:
        """Forces (p, 3) of the grips on the box at equilibrium (N)."""
        now = self.body.vertices * [stretch, width, width]  # a guess, which has to be left again where it is wrong
        self.sim.positions, self.sim.targets = now, now[self.ends]
        self.sim.equilibrium(within=1e-6, most=self.steps)
        off: np.ndarray = self.sim.targets - self.sim.positions[self.ends]
        return self.stiffness * off

    def pulled(self, stretch: float) -> tuple[float, float]:
        """The stretch that grips reach, and what pulls at each end (N), with the width that nothing presses on."""

        def sideways(width: float) -> float:
            return float(np.sum(self.held(stretch, width)[:, 1:] * self.rest[:, 1:]))

        self.width = float(newton(sideways, self.width, x1=WIDER * self.width, tol=NEAR * self.width))
        sides = np.sign(self.rest[:, 0])
        force = float(np.sum(self.held(stretch, self.width)[:, 0] * sides)) / 2
        return 2 * float(np.mean(self.sim.positions[self.ends, 0] * sides)) / SIZE[0], force


def rising(stretches: np.ndarray, stresses: np.ndarray) -> np.ndarray:
    """Which of the stretches, in order, are connected to rest by a curve that rises."""
    middle = int(np.argmin(np.abs(stretches - 1)))
    with np.errstate(invalid="ignore"):
        up = np.diff(stresses) > 0
    good = np.zeros(len(stretches), bool)
    good[middle] = True
    for k in range(middle + 1, len(stretches)):
        good[k] = good[k - 1] and up[k - 1]
    for k in range(middle - 1, -1, -1):
        good[k] = good[k + 1] and up[k]
    return good


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--materials", default=",".join(HYPERELASTIC))
    parser.add_argument("--resolution", type=int, default=3, help="vertices across")
    parser.add_argument("--smallest", type=float, default=0.4, help="stretch")
    parser.add_argument("--largest", type=float, default=2.5, help="stretch")
    parser.add_argument("--count", type=int, default=6, help="stretches on either side of rest")
    parser.add_argument("--solver", default="newton-multigrid")
    parser.add_argument("--iterations", type=int, default=200, help="of a step")
    parser.add_argument("--most", type=int, default=30, help="steps for each equilibrium")
    parser.add_argument("--out", help="draw the curves (.png, .pdf or .svg)")
    given = parser.parse_args()
    area, panels = SIZE[1] * SIZE[2], []
    fine = np.concatenate([np.linspace(given.smallest, 1, 61), np.linspace(1, given.largest, 61)[1:]])
    for name in given.materials.split(","):
        material = MATERIALS[name](young=1e5, poisson=0.4, conversion=False)
        density, constants = HYPERELASTIC[name], material.constants
        curve = uniaxial(density, constants, fine)[0]
        good = rising(fine, curve)
        low, high = fine[good][[0, -1]]
        low, high = low if low == fine[0] else WITHIN * low, high if high == fine[-1] else high / WITHIN
        budget = Budget(iterations=given.iterations)
        found = [(1.0, 0.0)]
        for end in (low, high):  # both from rest
            box = Gripped(material, given.resolution, given.solver, budget, given.most)
            found += [box.pulled(stretch) for stretch in np.linspace(1, end, given.count + 1)[1:]]
        stretches, forces = np.array(sorted(found)).T
        expected = uniaxial(density, constants, stretches)[0] * area
        off = np.abs(forces - expected)[stretches != 1] / np.abs(expected[stretches != 1])
        pairs = ", ".join(f"{a:.3g}: {b:.0f} N" for a, b in zip(stretches, forces, strict=True))
        print(f"{name:20s} {pairs}; forces off by {100 * off.max():.2g} % at most", flush=True)
        lines = {CURVE: (fine[good], curve[good] * area / 1e3), "a box between grips": (stretches, forces / 1e3)}
        panels.append(Panel(lines, name, "stretch", "force (kN)", linear=True, reference=CURVE))
    if given.out:
        panel_grid(given.out, [panels[k : k + 3] for k in range(0, len(panels), 3)])
        print(f"drawn: {given.out}")


if __name__ == "__main__":
    main()
