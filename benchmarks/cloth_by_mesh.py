"""How much the stiffness of cloth depends on its mesh: `Sheet` beside springs and hinges, against closed forms.

    python benchmarks/cloth_by_mesh.py [--quick] [--cases strip,bias,cantilever,drape] [--out cloth_by_mesh.json]

    strip        hangs from one end and lengthens by ρ g L²/(2 k) under its own weight
    bias         the same, cut at 45° to warp and weft, which changes nothing: stiffness is isotropic
    cantilever   bends under its own weight as the elastica B θ'' = -ρ g (L - s) cos θ does
    drape        a square cloth that is held by a table a third as wide hangs down around it: mean height of its hem

Meshes are a grid, two with scattered vertices and Delaunay triangles, and all refined: three resolutions of each. A
figure is over its closed form; of drapes, over the mean of all meshes of the same material. Springs have the stiffness
of the sheet's for each edge, hinges a third of its rigidity, which is what a grid has along its edges.
Equilibria are found in float64 (`newton`, without inertia).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.integrate import solve_bvp

import vivace as vv

G = 9.81
DENSITY = 0.2  # kg/m²
STRIP = {"length": 1.0, "width": 0.3, "stretch": 100.0}
BEAM = {"length": 0.3, "width": 0.12, "rigidity": 1e-2, "stretch": 2e3}
CLOTH = {"side": 0.36, "rigidity": 2e-3, "stretch": 200.0}
SEEDS = (0, 1)


def materials(stretch: float, rigidity: float, **more: float) -> dict[str, object]:
    """A sheet and cloth of springs that should be as stiff."""
    return {
        "sheet": vv.Sheet(DENSITY, stretch, bend=rigidity, **more),
        "springs": vv.Cloth(DENSITY, stretch, bend=rigidity / 3),
    }


def settled(model: vv.Model, start: np.ndarray | None = None, within: float = 1e-7) -> np.ndarray:
    """Positions at equilibrium (n, 3)."""
    sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=40), integrator="quasi-static")
    if start is not None:
        sim.positions = start
    sim.equilibrium(within=within, most=40)
    return np.asarray(sim.positions, np.float64)


def strip(material: object, cells: int, seed: int | None) -> float:
    """Elongation over ρ g L²/(2 k)."""
    length, width = STRIP["length"], STRIP["width"]
    across = max(2, round(cells * width / length)) + 1
    sheet = vv.mesh.cloth(across, cells + 1, width, length, **scattered(seed), plane="vertical")
    model = vv.Model.of(sheet, material, gravity=(0, -G, 0)).pin("top")
    q = settled(model)
    lower = sheet.groups["bottom"]
    found = float((sheet.vertices[lower, 1] - q[lower, 1]).mean())
    return found / (DENSITY * G * length**2 / (2 * STRIP["stretch"]))


def mirrored(half: vv.mesh.Mesh) -> vv.mesh.Mesh:
    """A strip and its mirror image, one at the line where they meet ("top" of `half`): each half holds the other level.

    A line is all that is clamped then: the slope there is zero by symmetry, whatever the mesh.
    """
    n, line = half.n_vertices, half.groups["top"]
    flat = half.vertices - [0.0, 0.0, half.vertices[line, 2].min()]
    others = np.setdiff1d(np.arange(n), line)
    number = np.empty(n, np.int64)
    number[line], number[others] = line, n + np.arange(len(others))
    vertices = np.concatenate([flat, flat[others] * [1, 1, -1]])
    triangles = np.concatenate([half.triangles, number[half.triangles][:, ::-1]])
    ends = half.groups["bottom"]
    groups = {"line": line, "ends": np.concatenate([ends, number[ends]])}
    return vv.mesh.Mesh.from_triangles(vertices, triangles, name="strip", groups=groups)


def elastica(load: float) -> float:
    """How far the tip of a cantilever of length 1 is below its clamp; `load` is ρ g L³/B."""

    def slope(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.stack([y[1], -load * (1.0 - s) * np.cos(y[0]), np.sin(y[0])])

    s = np.linspace(0.0, 1.0, 201)
    guess = np.stack([load / 6 * s, load / 6 * np.ones_like(s), load / 12 * s**2])
    found = solve_bvp(slope, lambda a, b: np.array([a[0], b[1], a[2]]), s, guess, tol=1e-8)
    return float(found.sol(1.0)[2])


def cantilever(material: object, cells: int, seed: int | None) -> float:
    """How far the tip hangs down, over the elastica's."""
    length, width = BEAM["length"], BEAM["width"]
    half = vv.mesh.cloth(max(2, round(cells * width / length)) + 1, cells + 1, width, length, **scattered(seed))
    sheet = mirrored(half)
    model = vv.Model.of(sheet, material, gravity=(0, -G, 0)).pin("line")
    q = settled(model)
    load = DENSITY * G * length**3 / BEAM["rigidity"]
    return float(-q[sheet.groups["ends"], 1].mean()) / (length * elastica(load))


def blocks(cells: int, seed: int | None) -> vv.mesh.Mesh:
    """A square of nine squares, one at the edges where they meet: "held" is the middle one, the same on every mesh."""
    side, n = CLOTH["side"] / 3, cells // 3 + 1
    vertices, triangles, held, count = [], [], [], 0
    for k in range(9):
        more = {} if seed is None else {"irregular": True, "seed": 9 * seed + k}
        part = vv.mesh.cloth(n, n, side, side, **more)
        vertices.append(part.vertices + np.array([side * (k % 3 - 1), 0.0, side * (k // 3 - 1)]))
        triangles.append(part.triangles + count)
        held.append(np.full(part.n_vertices, k == 4))
        count += part.n_vertices
    places = np.concatenate(vertices)
    _, first, number = np.unique(np.round(places / side, 6), axis=0, return_index=True, return_inverse=True)
    chosen = np.zeros(len(first), bool)
    np.logical_or.at(chosen, number.ravel(), np.concatenate(held))
    edge = np.abs(places[first]).max(axis=1) > 1.5 * side - 1e-6
    groups = {"held": np.flatnonzero(chosen), "hem": np.flatnonzero(edge)}
    return vv.mesh.Mesh.from_triangles(places[first], number.ravel()[np.concatenate(triangles)], groups=groups)


def drape(material: object, cells: int, seed: int | None) -> float:
    """Mean depth of the hem below the table (m)."""
    sheet = blocks(cells, seed)
    model = vv.Model.of(sheet, material, gravity=(0, -G, 0)).pin("held")
    # It begins bent over the four sides, with folds at the corners, so that all meshes hang in the same way.
    start = sheet.vertices.copy()
    away = np.maximum(np.abs(start[:, [0, 2]]) - CLOTH["side"] / 6, 0.0).max(axis=1)
    start[:, 1] -= 0.5 * away
    q = settled(model, start, 1e-5)
    return float(-q[sheet.groups["hem"], 1].mean())


def scattered(seed: int | None) -> dict[str, object]:
    """Arguments of a mesh."""
    return {} if seed is None else {"irregular": True, "seed": seed}


def table(
    name: str, measure: Callable[..., float], stuff: dict[str, object], resolutions: Sequence[int], *, mean: bool
) -> dict[str, dict[str, float]]:
    """Print what `measure` makes of every material on every mesh."""
    meshes = [(cells, seed) for seed in (None, *SEEDS) for cells in resolutions]
    names = [f"{'grid' if seed is None else f'scattered {seed}'} {cells}" for cells, seed in meshes]
    found = {}
    for kind, material in stuff.items():
        values = np.array([measure(material, cells, seed) for cells, seed in meshes])
        if mean:
            values = values / values.mean()
        found[kind] = dict(zip(names, values.tolist(), strict=True))
        spread = 100 * (values.max() - values.min()) / values.mean()
        off = 100 * np.abs(values - 1).max()
        told = " ".join(f"{value:7.3f}" for value in values)
        print(f"{name:<11}{kind:<9}{told}   apart {spread:5.1f} %, off {off:5.1f} %", flush=True)
    return found


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="coarse meshes")
    parser.add_argument("--cases", default="strip,bias,cantilever,drape")
    parser.add_argument("--out", type=Path, default=None, help="write what was measured as JSON")
    args = parser.parse_args()
    resolutions = (12, 16, 20) if args.quick else (20, 30, 40)
    print("a grid, then two meshes of scattered vertices, each at three resolutions")
    cases = {
        "strip": (strip, materials(STRIP["stretch"], 1e-6), False),
        "bias": (strip, materials(STRIP["stretch"], 1e-6, angle=45.0), False),
        "cantilever": (cantilever, materials(BEAM["stretch"], BEAM["rigidity"]), False),
        "drape": (drape, materials(CLOTH["stretch"], CLOTH["rigidity"]), True),
    }
    found = {}
    for name in args.cases.split(","):
        measure, stuff, mean = cases[name]
        cells = resolutions if not mean else (9, 12, 15) if args.quick else (15, 21, 30)  # of drapes: threes
        found[name] = table(name, measure, stuff, cells, mean=mean)
    if args.out is not None:
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
