"""A box under four hyperelastic models, as pictures [fratarcangeli2018, Fig. 16 and 19].

    python benchmarks/box_figures.py [--resolution 9] [--out docs/figures]

The scene `box` in equilibrium (`integrator="quasi-static"`): stretched, compressed and twisted (box-models.png), with
the force or the torque that its top is held with; and pressed and turned at once, its elements coloured by how far they
are converted (box-conversion.png), with the share of those that are at all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import vivace as vv
from vivace.pictures.camera import Camera
from vivace.pictures.opening import open_renderer
from vivace.pictures.palette import map_colours
from vivace.scenes import make_scene
from vivace.scenes.hyperelastic import MODES, deformed

MATERIALS = {
    "stvk": "St. Venant-Kirchhoff",
    "neo-hookean": "neo-Hookean",
    "mooney-rivlin": "Mooney-Rivlin",
    "fung": "Fung",
}
SIDE = 0.5  # m
CRUSHED, TURNED = 0.4, 60.0  # of its height, and degrees, of the box that shows conversion
STEPS = 6  # in which that is done, from rest
TILE, LINE = (300, 300), 30  # pixels of a picture, and of a line of text
VIEW = (0.5, 0.35, 1.0)
INK, PAPER = (34, 34, 34), (255, 255, 255)


def settled(name: str, mode: str, resolution: int) -> tuple[vv.Simulation, vv.Model]:
    """A box in equilibrium; "crushed" is pressed and turned, little by little."""
    if mode == "crushed":
        scene = make_scene("box", resolution=resolution, material=name, mode="compress", amount=1.0, side=SIDE)
    else:
        scene = make_scene("box", resolution=resolution, material=name, mode=mode, side=SIDE)
    budget = vv.Budget(iterations=200)
    sim = scene.simulate(solver="newton-multigrid", integrator="quasi-static", budget=budget)
    if mode == "crushed":
        body = scene.model.mesh
        for share in np.arange(1, STEPS + 1) / STEPS:
            pressed = deformed(body.vertices, "compress", 1 - share * (1 - CRUSHED), SIDE)
            turned = deformed(pressed, "twist", share * TURNED, SIDE * (1 - share * (1 - CRUSHED)))
            sim.targets = turned[scene.model.pinned]
            sim.equilibrium(within=1e-4, most=10)
    found = sim.equilibrium(within=1e-5, most=60)
    if not found.arrived:
        print(f"{name}, {mode}: not in balance after {found.steps} steps: {found}")
    return sim, scene.model


def held_with(sim: vv.Simulation, model: vv.Model) -> tuple[float, float]:
    """The force (N) along y and the torque (N m) about it that hold the top."""
    q, firm = sim.positions.astype(np.float64), sim.system.pin_weight
    targets = np.zeros_like(q)
    targets[model.pinned] = sim.targets
    top = model.mesh.groups["top"]
    force = firm[top, None] * (targets - q)[top]
    return float(force[:, 1].sum()), float(np.sum(q[top, 2] * force[:, 0] - q[top, 0] * force[:, 2]))


def picture(model: vv.Model, q: np.ndarray, camera: Camera, values: np.ndarray | None = None) -> Image.Image:
    """A box with its edges; `values` (tets,), 0 to 1, colour the elements."""
    body = model.mesh
    triangles, positions, colours = body.triangles, q, None
    if values is not None:  # every triangle has corners and a colour of its own
        owner = {tuple(sorted(face)): k for k, tet in enumerate(body.tets.tolist()) for face in faces(tet)}
        mine = np.array([owner[tuple(sorted(face))] for face in triangles.tolist()])
        positions, triangles = q[triangles].reshape(-1, 3), np.arange(3 * len(mine)).reshape(-1, 3)
        colours = np.repeat(map_colours(values[mine], "YlOrRd", (0.0, 1.0)), 3, axis=0)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    with open_renderer(triangles, camera, edges=edges, size=TILE) as renderer:
        return Image.fromarray(renderer.draw(positions, colours))


def faces(tet: list[int]) -> list[tuple[int, int, int]]:
    """The four triangles of a tetrahedron."""
    a, b, c, d = tet
    return [(a, b, c), (a, b, d), (a, c, d), (b, c, d)]


def sheet(path: Path, rows: list[list[tuple[Image.Image, str]]]) -> None:
    """Pictures in rows, the names of the materials above and a line of text below each."""
    font = ImageFont.load_default(15)
    wide, high = TILE[0] * len(rows[0]), LINE + (TILE[1] + LINE) * len(rows)
    out = Image.new("RGB", (wide, high), PAPER)
    draw = ImageDraw.Draw(out)
    for k, name in enumerate(MATERIALS.values()):
        draw.text((TILE[0] * (k + 0.5), LINE / 2), name, INK, font, anchor="mm")
    for i, row in enumerate(rows):
        for k, (image, text) in enumerate(row):
            top = LINE + i * (TILE[1] + LINE)
            out.paste(image, (TILE[0] * k, top))
            draw.text((TILE[0] * (k + 0.5), top + TILE[1] + LINE / 2), text, INK, font, anchor="mm")
    out.quantize(128).save(path, optimize=True)
    print(f"drawn: {path}, {path.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    """Settle all boxes, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resolution", type=int, default=9, help="vertices along a side")
    parser.add_argument("--out", type=Path, default=Path("docs/figures"), help="a folder")
    given = parser.parse_args()
    high = max(MODES["stretch"], 1.0) * SIDE
    camera = Camera.framing((-SIDE / 2, 0, -SIDE / 2), (SIDE / 2, high, SIDE / 2), VIEW, aspect=1.0)
    near = Camera.framing((-0.39, 0, -0.39), (0.39, 0.25, 0.39), VIEW, aspect=1.0)
    rows: list[list[tuple[Image.Image, str]]] = [[] for _ in MODES]
    crushed = []
    for name in MATERIALS:
        for mode, row in zip(MODES, rows, strict=True):
            sim, model = settled(name, mode, given.resolution)
            force, torque = held_with(sim, model)
            text = f"{torque:.0f} N m" if mode == "twist" else f"{force / 1e3:.2f} kN"
            print(f"{name:14s} {mode:9s} {text}", flush=True)
            row.append((picture(model, sim.positions.astype(np.float64), camera), text))
        sim, model = settled(name, "crushed", given.resolution)
        q = sim.positions.astype(np.float64)
        share = model.terms[0].converted(q)
        text = f"{100 * np.mean(share > 0):.2g} % converted, {100 * np.mean(share > 0.5):.2g} % by half"
        print(f"{name:14s} crushed   {text}", flush=True)
        crushed.append((picture(model, q, near, share), text))
    given.out.mkdir(parents=True, exist_ok=True)
    sheet(given.out / "box-models.png", rows)
    sheet(given.out / "box-conversion.png", [crushed])


if __name__ == "__main__":
    main()
