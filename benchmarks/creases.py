"""A sheet that is folded and let go, with and without creases: the angle that it keeps beside the closed form.

    python benchmarks/creases.py [--out docs/figures/creases.png]

Half of it is held; the other half lies over it, round a fold of the radius r. There is no gravity. A fold of the
curvature 1/r and the length π r keeps the angle π (1 - r κ_y)/(1 + H) of the law in `vivace.constraints.crease`. Told
are the angle at rest when it has been folded, which is to be that; the angle between the halves in the end; and how
much of the angle at rest is in the fold then, and how much beside it. The second is no part of the closed form: a fold
that has hardened bends by κ_y + H α what is beside it, which yields at κ_y, when it is let go.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.pictures import Camera, bounds_of, open_renderer, save_figure

SIZE = 360, 260
LENGTH, WIDTH, RADIUS = 0.24, 0.12, 0.012  # m
LAWS: dict[str, dict[str, float]] = {
    "no crease": {},
    "κ_y = 40/m": {"crease": 40.0},
    "κ_y = 20/m": {"crease": 20.0},
    "κ_y = 20/m\nH = 1": {"crease": 20.0, "hardening": 1.0},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cells", type=int, default=96, help="along the sheet")
    parser.add_argument(
        "--air", type=float, default=40.0, help="drag, 1/s: it hardly swings past where it comes to rest"
    )
    parser.add_argument("--times", type=float, nargs="+", default=[0.0, 0.05, 0.1, 0.25, 2.0], metavar="S")
    parser.add_argument("--out", type=Path, default=Path("docs/figures/creases.png"))
    options = parser.parse_args()
    frames = [round(60 * time) for time in options.times]
    films = {}
    for name, law in LAWS.items():
        sheet, film, folded_at, ended_at = folded_and_let_go(options.cells, max(frames), law, options.air)
        films[name] = [film[k] for k in frames]
        told = f"folded {sum(folded_at):6.1f}° (in the fold {folded_at[0]:6.1f}°), "
        told += f"in the end {angle(sheet, film[-1]):6.1f}°"
        told += f" (at rest in the fold {ended_at[0]:6.1f}°, beside it {ended_at[1]:6.1f}°)"
        print(f"{' '.join(name.split()):18} {told}, closed form {kept_angle(**law):6.1f}°", flush=True)
    draw(sheet, films, options.times, options.out)
    print(f"wrote {options.out}")


def folded(x: np.ndarray) -> np.ndarray:
    """A sheet in the plane y = 0 whose right half is laid back over its left one."""
    s, half = x[:, 0], 0.5 * np.pi * RADIUS
    turn = np.clip((s + half) / RADIUS, 0.0, np.pi)
    beyond = s - np.clip(s, -half, half)
    along = np.where(s < 0, 1.0, -1.0) * beyond + RADIUS * np.sin(turn)
    return np.stack([along - half, RADIUS * (1 - np.cos(turn)), x[:, 2]], axis=1)


def folded_and_let_go(
    cells: int, frames: int, law: dict[str, float], air: float
) -> tuple[vv.mesh.Mesh, list[np.ndarray], tuple[float, float], tuple[float, float]]:
    """The mesh, its vertices frame by frame, and the angles at rest when it has been folded and in the end."""
    sheet = vv.mesh.cloth(cells + 1, cells // 4 + 1, LENGTH, WIDTH)
    model = vv.Model.of(sheet, vv.Sheet(0.2, 1e3, bend=1e-3, **law), gravity=(0, 0, 0), air=air)
    start = folded(sheet.vertices)
    held = np.flatnonzero(sheet.vertices[:, 0] < -0.5 * np.pi * RADIUS - 1e-6)
    model = model.pin(held, target=start[held])
    sim = vv.Simulation(model, solver="auto", budget=vv.Budget(iterations=20), time_step=1 / 60, substeps=2)
    sim.positions = start
    first = angles_at_rest(sim.creased())
    film = [sim.positions]
    for _ in range(frames):
        sim.step()
        film.append(sim.positions)
    return sheet, film, first, angles_at_rest(sim.creased())


def angles_at_rest(model: vv.Model) -> tuple[float, float]:
    """Degrees by which plates turn at rest along x, in the fold and beside it: curvature times area over the width."""
    mesh = model.mesh
    inside = np.abs(mesh.vertices[mesh.triangles, 0].mean(axis=1)) < 0.5 * np.pi * RADIUS
    turn = np.zeros(len(inside))
    for group in model.groups:
        if group.kind.name == "creased-plate":
            turn += np.degrees(mesh.triangle_areas() * group.parameters[:, 0] / WIDTH)
    return float(turn[inside].sum()), float(turn[~inside].sum())


def kept_angle(crease: float | None = None, hardening: float = 0.0) -> float:
    """Degrees of the closed form."""
    return 0.0 if crease is None else 180.0 * max(0.0, 1 - RADIUS * crease) / (1 + hardening)


def angle(sheet: vv.mesh.Mesh, x: np.ndarray) -> float:
    """Degrees by which the free half is turned from the held one."""
    s = sheet.vertices[:, 0]
    near, far = (x[np.abs(s - at) < 1e-6].mean(axis=0) for at in (0.25 * LENGTH, 0.5 * LENGTH))
    turned = float(np.degrees(np.arctan2(far[1] - near[1], far[0] - near[0])))
    return (turned + 90.0) % 360.0 - 90.0  # folded over: just above or below 180


def draw(sheet: vv.mesh.Mesh, films: dict[str, list[np.ndarray]], times: list[float], out: Path) -> None:
    from matplotlib.figure import Figure

    low, high = bounds_of(x for film in films.values() for x in film)
    camera = Camera.framing(low, high, (0.35, 0.45, 1.0), aspect=SIZE[0] / SIZE[1])
    figure = Figure(figsize=(1.75 * len(times), 1.35 * len(films)), layout="constrained", facecolor="white")
    grid = figure.subplots(len(films), len(times), squeeze=False)
    with open_renderer(sheet.triangles, camera, size=SIZE, ground=None) as paint:
        for row, (name, film) in zip(grid, films.items(), strict=True):
            row[0].set_ylabel(name, fontsize=8)
            for axes, x, time in zip(row, film, times, strict=True):
                axes.imshow(paint.draw(x))
                axes.set_xticks([]), axes.set_yticks([])
                axes.set_frame_on(False)
                axes.set_title(f"{time:g} s, {angle(sheet, x):.0f}°", fontsize=8)
    save_figure(figure, out, {"length": LENGTH, "radius": RADIUS})


if __name__ == "__main__":
    main()
