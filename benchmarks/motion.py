"""The figures that motion is held to. Prints a table.

    python benchmarks/motion.py [--only tablecloth,fine,variants,large,bodies,budgets,stability,threads,pins,
                                        table,sphere,drag,rounds]
                                [--resolution 100] [--armadillo FILE] [--json OUT]

Distances are RMS over the vertices, in centimetres, from trajectories whose every step is converged; these take minutes
to hours the first time, and are kept in the cache folder (VIVACE_CACHE). `--resolution` scales every body: 30 shows
within minutes whether all of it works. Medians over `--repeat` runs, with the least and the most in parentheses.
`--armadillo`: a tetrahedral mesh of about 55K elements (default: a generated body).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import motion_answers
import motion_checks
import motion_contacts
import motion_costs
import numpy as np
from motion_common import Options, Row, path_length, spread, turning

from vivace import Budget, Cloth, Model, mesh
from vivace.bench.converged import References
from vivace.bench.motion import Motion, Trajectory, frames_at
from vivace.bench.run import Run, run
from vivace.files import write_text
from vivace.mesh import Mesh
from vivace.scenes import Scene, make_scene

TIMES = (0.25, 0.5, 0.75, 1.0, 2.0)
H = 0.033


def runs(scene: Scene, ms: float, seconds: float, options: Options) -> list[Run]:
    """The scene by the solver under test, warm, `repeat` times."""
    frames = round(seconds / scene.time_step)
    given = {"solver": options.solver, "threads": options.threads, "error_samples": 0, "record": True}
    return [run(scene, budget=Budget(ms=ms), frames=frames, **given) for _ in range(options.repeat)]  # type: ignore


def beside(scene: Scene, done: Sequence[Run], options: Options, times: Sequence[float], fine: bool) -> list[Motion]:
    references = References(
        scene, len(done[0].ms), fine=fine, times=times, newton=options.newton or None, progress=options.tell
    )
    return [references.motion(result, options.solver, threads=options.threads) for result in done]


def row_of(name: str, done: Sequence[Run], moved: Sequence[Motion], *, fine: bool = False) -> Row:
    """Distances at the times asked for, stretch, and what a frame took."""
    frames = moved[0].frames
    apart = [m.fine if fine else m.distance for m in moved]
    away = np.array([[100 * values[k] for k in frames] for values in apart if values is not None])
    drawn = [m.stretch for m in moved if m.stretch is not None]
    ms = [float(np.median(result.ms)) for result in done]
    values = {
        "seconds": [float(round(moved[0].times[k], 6)) for k in frames],
        "cm": np.median(away, axis=0).tolist(),
        "cm_runs": away.tolist(),
        "stretch_percent": np.median([[100 * part for part in s] for s in drawn], axis=0).tolist() if drawn else None,
        "lowest_cm": 100 * float(np.median([m.low[-1] for m in moved])),
        "lowest_reference_cm": 100 * float(np.median([m.reference_low[-1] for m in moved])),
        "ms_a_frame": float(np.median(ms)),
        "sweeps": float(np.median([np.median(result.sweeps) for result in done])),
        "substeps": [m.substeps for m in moved],
        "reference": "steps of 1 ms, converged" if fine else moved[0].reference,
    }
    text = f"{', '.join(spread(column) for column in away.T)} cm after "
    text += f"{', '.join(f'{second:.2f}' for second in values['seconds'])} s from {values['reference']}"  # type: ignore
    if drawn:
        mean, root, largest = values["stretch_percent"]  # type: ignore[misc]
        text += f"; stretch {mean:.3g}, RMS {root:.3g}, largest {largest:.3g} %"
    text += f"; {values['sweeps']:g} iterations, {max(m.substeps for m in moved)} substeps, {spread(ms)} ms a frame"
    return Row(name, text, values)


def tablecloth(options: Options) -> Iterator[Row]:
    scene = make_scene("tablecloth", resolution=options.resolution)
    done = runs(scene, 8.0, 2.05, options)
    yield row_of("tablecloth, 8 ms, same step", done, beside(scene, done, options, TIMES, False))


def fine(options: Options) -> Iterator[Row]:
    scene = make_scene("tablecloth", resolution=options.resolution)
    for ms in (8.0, 16.0):
        done = runs(scene, ms, 1.0, options)
        moved = beside(scene, done, options, TIMES[:4], True)
        yield row_of(f"tablecloth, {ms:g} ms, from steps of 1 ms", done, moved, fine=True)


def variants(options: Options) -> Iterator[Row]:
    for name, scene in variant_scenes(options.resolution).items():
        if options.variants and name not in options.variants:
            continue
        done = runs(scene, 8.0, 1.0, options)
        yield row_of(f"{name}, 8 ms", done, beside(scene, done, options, (0.5, 1.0), False))


def variant_scenes(n: int) -> dict[str, Scene]:
    """Cloths that must move as well as the tablecloth, of about n² vertices each."""
    air, scenes = 0.5, {}
    sheet = mesh.cloth(n, n)
    scenes["one corner held"] = Model.of(sheet, Cloth(0.2, 1e4, 1e-4), air=air).pin([0])
    long, wide = round(2.5 * n), round(0.4 * n)
    strip = mesh.cloth(long, wide, 1.0, wide / long)
    scenes["strip held at one end"] = Model.of(strip, Cloth(0.2, 1e4, 1e-4), air=air).pin("left")
    scenes["irregular"] = make_scene("tablecloth", resolution=n, irregular=True).model
    scenes["garment"] = garment(n)
    for k in (1e2, 1e4, 1e6):
        scenes[f"k = {k:.0e}"] = make_scene("tablecloth", resolution=n, stretch=k).model
    for bend in (1e-6, 1e-4, 1e-2):
        scenes[f"bend = {bend:.0e}"] = make_scene("tablecloth", resolution=n, bend=bend).model
    return {name: Scene(name, model, H) for name, model in scenes.items()}


def garment(n: int) -> Model:
    """Two half tubes of 1 m, their sides welded to each other; it is held at one end and let go from the horizontal."""
    count = max(4, round(n / 2**0.5))
    sheet = mesh.cloth(count, count)
    halves = []
    for sign in (1.0, -1.0):
        x, _, z = sheet.vertices.T
        angle, radius = np.pi * x, 1.0 / np.pi
        points = np.column_stack([radius * np.sin(angle), sign * radius * np.cos(angle), z])
        halves.append(Mesh.from_triangles(points, sheet.triangles))
    model = Model.of(mesh.join(halves), Cloth(0.2, 1e4, 1e-4), air=0.5)
    sides = np.concatenate([sheet.select("left"), sheet.select("right")])
    model = model.constrain("weld", np.column_stack([sides, sides + sheet.n_vertices]), model.pin_stiffness / 30.0)
    top = sheet.select("top")
    return model.pin(np.concatenate([top, top + sheet.n_vertices]))


def large(options: Options) -> Iterator[Row]:
    """What does not fit into 33 ms is shown as distance against milliseconds."""
    for factor in (2, 4):
        scene = make_scene("tablecloth", resolution=factor * options.resolution)
        for ms in (33.0, 66.0, 132.0, 264.0):
            done = runs(scene, ms, 1.0, options)
            moved = beside(scene, done, options, TIMES[:4], False)
            yield row_of(f"{scene.model.n} vertices, {ms:g} ms", done, moved)


def bodies(options: Options) -> Iterator[Row]:
    """The path of the vertex farthest from where the body is held."""
    bar = make_scene("bar", resolution=max(3, round(0.14 * options.resolution)))
    small = {"resolution": max(16, round(0.43 * options.resolution))}
    other = make_scene("armadillo", **({"path": options.armadillo} if options.armadillo else small))
    for scene in (bar, replace(other, name="armadillo")):
        held = scene.model.mesh.vertices[scene.model.pinned].mean(axis=0)
        tip = int(np.argmax(np.linalg.norm(scene.model.mesh.vertices - held, axis=1)))
        size = f"{scene.name}, {len(scene.model.mesh.tets)} tetrahedra"
        for ms in (15.0, 33.0):
            done = runs(scene, ms, 2.0, options)
            references = References(
                scene, len(done[0].ms), fine=False, times=TIMES, newton=options.newton or None, progress=options.tell
            )
            moved = [references.motion(result, options.solver, threads=options.threads) for result in done]
            exact = references.trajectory(moved[0].substeps)
            yield tip_row(f"{size}, {ms:g} ms: tip", [result.trajectory() for result in done], exact, tip)
            yield row_of(f"{size}, {ms:g} ms", done, moved)


def tip_row(name: str, mine: Sequence[Trajectory], exact: Trajectory, tip: int) -> Row:
    """RMS over time, relative to the way the tip goes when converged; first minimum and period beside converged."""
    way = path_length(exact.positions[:, tip])
    away = [float(np.sqrt(np.mean(np.sum((m.positions[:, tip] - exact.positions[:, tip]) ** 2, axis=1)))) for m in mine]
    frames = frames_at(TIMES, exact.time_step, len(exact) - 1)
    drops = [[100 * float(m.positions[0, tip, 1] - m.positions[k, tip, 1]) for k in frames] for m in (*mine, exact)]
    first = [turning(m.times, m.positions[:, tip, 1]) for m in (*mine, exact)]
    values = {
        "rms_cm": [100 * a for a in away],
        "path_cm": 100 * way,
        "percent_of_path": [100 * a / way for a in away],
        "drops_cm": drops[:-1],
        "drops_converged_cm": drops[-1],
        "turning": first[:-1],
        "turning_converged": first[-1],
    }
    text = (
        f"RMS {spread([100 * a for a in away])} cm, {spread([100 * a / way for a in away])} % of {100 * way:.3g} cm; "
    )
    text += (
        f"drops {', '.join(f'{d:.3g}' for d in drops[0])} cm, converged {', '.join(f'{d:.3g}' for d in drops[-1])}; "
    )
    text += f"first minimum {first[0]}, converged {first[-1]}"
    return Row(name, text, values)


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    part.__name__: part
    for part in (
        *(tablecloth, fine, variants, large, bodies),
        *(motion_answers.budgets, motion_checks.stability, motion_checks.threads, motion_checks.pins),
        *(motion_contacts.table, motion_contacts.sphere, motion_contacts.drag, motion_costs.rounds),
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--variants", default="", help="of the part `variants`, only these, separated by commas")
    parser.add_argument("--resolution", type=int, default=100, help="vertices along the tablecloth's side (100)")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--repeat", type=int, default=3, help="runs under each budget of time (3)")
    parser.add_argument("--threads", type=int)
    parser.add_argument(
        "--newton", action="store_true", help="references by Newton's method even where they take hours"
    )
    parser.add_argument("--armadillo", metavar="FILE", help="a tetrahedral mesh file")
    parser.add_argument("--progress", action="store_true", help="tell on the way how far the references are")
    parser.add_argument("--json", metavar="OUT", help="write the numbers to a file")
    given = vars(parser.parse_args())
    only, out = given.pop("only").split(","), given.pop("json")
    given["variants"] = tuple(name.strip() for name in given["variants"].split(",") if name.strip())
    options = Options(**given)
    for name in only:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; the parts are {', '.join(PARTS)}")
    found: dict[str, dict[str, object]] = {}
    for name in only:
        for row in PARTS[name](options):
            print(f"{row.name:48s} {row.text}", flush=True)
            found.setdefault(name, {})[row.name] = {"text": row.text, **row.values}
            if out:
                settings = {**given, "resolution": options.resolution}
                write_text(Path(out), json.dumps({"settings": settings, "rows": found}, indent=2, default=str))


if __name__ == "__main__":
    main()
