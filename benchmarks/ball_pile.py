"""Balls poured into a box until they rest: bodies, contacts, seconds a step with one thread and with two, and a film.

    python benchmarks/ball_pile.py --size 80 --frames 240 --threads 1,2 --out pile

Balls of different sizes begin in layers, each in the hollows of the one below, a little apart, and fall. The run ends
when their mean speed is small, or after so many frames or minutes. Then some steps are made from that state with each
number of threads, timed, and their bits compared. Progress goes to stderr; --out gets a film, a picture, a checkpoint
with which --resume goes on, and the numbers as JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vivace import Body, Budget, RigidSimulation
from vivace.collisions import Plane
from vivace.pictures import Camera
from vivace.pictures.animation import provenance
from vivace.pictures.balls import picture_of_balls
from vivace.pictures.film import write_film
from vivace.pictures.palette import map_colours
from vivace.rigid.balls import grid_places
from vivace.rigid.bodies import Balls
from vivace.rigid.contacts import ContactPoints

MOVING = ("positions", "orientations", "velocities", "spins")
SIZE = (960, 720)


def make(arguments: argparse.Namespace, threads: int) -> RigidSimulation:
    """A floor, four walls, and the balls."""
    rng, radius = np.random.default_rng(arguments.seed), arguments.radius
    places = grid_places((arguments.size,) * 3, "cannonball") * (0.5 * arguments.spacing * radius)
    radii = rng.uniform(arguments.smallest * radius, radius, len(places))
    low, high = places.min(axis=0) - radius, places.max(axis=0) + radius
    planes = [Plane()]
    planes += [Plane((x, 0.0, 0.0), (way, 0.0, 0.0)) for x, way in ((low[0], 1.0), (high[0], -1.0))]
    planes += [Plane((0.0, 0.0, z), (0.0, 0.0, way)) for z, way in ((low[2], 1.0), (high[2], -1.0))]
    walls = [Body(plane, fixed=True, friction=arguments.friction) for plane in planes]
    balls = Balls(places, radii, density=500.0, friction=arguments.friction)
    budget = Budget(iterations=arguments.iterations)
    given = {"time_step": arguments.step, "substeps": 1, "budget": budget, "threads": threads}
    return RigidSimulation([*walls, balls], solver=arguments.solver, **given)


def state_of(sim: RigidSimulation) -> dict[str, np.ndarray]:
    """All that the next step needs."""
    found = {name: getattr(sim.bodies, name) for name in MOVING}
    found |= {f"contacts.{name}": array for name, array in vars(sim.contacts).items()}
    return found | {"impulses": sim.impulses, "clock": np.array([sim.time, sim.frames])}


def go_on(sim: RigidSimulation, state: dict[str, np.ndarray]) -> None:
    for name in MOVING:
        getattr(sim.bodies, name)[:] = state[name]
    sim.contacts = ContactPoints(**{name[9:]: a.copy() for name, a in state.items() if name.startswith("contacts.")})
    sim.impulses = state["impulses"].copy()
    sim.time, sim.frames = float(state["clock"][0]), int(state["clock"][1])


class Painter:
    """Pictures from one place, balls coloured by the height at which they began."""

    def __init__(self, sim: RigidSimulation):
        self.free = np.flatnonzero(sim.bodies.movable)
        start = sim.bodies.positions[self.free]
        self.radii = sim.detector.cores.radii[self.free]
        low, high = start.min(axis=0), start.max(axis=0)
        self.camera = Camera.framing(low, high, direction=(0.7, 0.55, 1.0), aspect=SIZE[0] / SIZE[1])
        bands = np.floor(10 * (start[:, 1] - low[1]) / (high[1] - low[1] + 1e-9))
        noise = np.random.default_rng(1).uniform(-0.35, 0.35, len(bands))  # so that one sees single balls
        self.colours = map_colours(bands + noise, "viridis", (-1.0, 11.0))

    def draw(self, sim: RigidSimulation) -> np.ndarray:
        return picture_of_balls(sim.bodies.positions[self.free], self.radii, self.colours, self.camera, size=SIZE)


def speeds(sim: RigidSimulation) -> np.ndarray:
    return np.linalg.norm(sim.bodies.velocities[sim.bodies.movable], axis=1)


def pour(sim: RigidSimulation, arguments: argparse.Namespace) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """Run until the balls rest, or time is up; pictures, and a row of numbers a step."""
    painter, begin = Painter(sim), time.perf_counter()
    pictures, rows = [painter.draw(sim)], list[dict[str, Any]]()
    while sim.frames < arguments.frames:
        clock = time.perf_counter()
        report = sim.step()
        took, speed = time.perf_counter() - clock, speeds(sim)
        row = {
            "frame": sim.frames,
            "time_s": sim.time,
            "seconds": took,
            "contacts": len(report.contacts),
            "colours": len(report.colours),
            "deepest_mm": 1e3 * report.depth,
            "mean_speed": float(speed.mean()),
            "largest_speed": float(speed.max()),
            "kinetic_J": report.kinetic_energy,
            "stages_ms": report.stages,
        }
        rows.append(row)
        if sim.frames % arguments.every == 0:
            pictures.append(painter.draw(sim))
        stages = " ".join(f"{name} {ms / 1e3:.2f}" for name, ms in report.stages.items())
        print(
            f"{sim.frames:4d} {sim.time:.3f} s: {len(report.contacts):,} contacts, {took:.2f} s ({stages}), "
            f"deepest {row['deepest_mm']:.2f} mm, mean speed {row['mean_speed']:.4f} m/s",
            file=sys.stderr,
            flush=True,
        )
        if sim.frames % 20 == 0:
            np.savez(arguments.out / "checkpoint.npz", **state_of(sim))
            Image.fromarray(pictures[-1]).save(arguments.out / "now.png")
        late = arguments.minutes and time.perf_counter() - begin > 60 * arguments.minutes
        if late or (sim.frames > 20 and row["mean_speed"] < arguments.rest):
            break
    return pictures, rows


def measured(arguments: argparse.Namespace, state: dict[str, np.ndarray], threads: int) -> dict[str, Any]:
    """Some steps from a state with a number of threads."""
    sim = make(arguments, threads)
    go_on(sim, state)
    sim.step()  # compiles, and warms up
    go_on(sim, state)
    seconds, stages = [], []
    for _ in range(arguments.steps):
        clock = time.perf_counter()
        report = sim.step()
        seconds.append(time.perf_counter() - clock)
        stages.append(report.stages)
        print(f"{threads} threads: {seconds[-1]:.2f} s", file=sys.stderr, flush=True)
    parts = {name: float(np.median([stage[name] for stage in stages])) / 1e3 for name in stages[0]}
    digest = hashlib.sha256(b"".join(getattr(sim.bodies, name).tobytes() for name in MOVING)).hexdigest()
    gaps = report.contacts.gaps
    return {
        "threads": threads,
        "seconds": float(np.median(seconds)),
        "least": min(seconds),
        "most": max(seconds),
        "stages": parts,
        "digest": digest,
        "contacts": len(gaps),
        "colours": len(report.colours),
        "deepest_mm": 1e3 * report.depth,
        "mean_overlap_mm": float(1e3 * np.maximum(-gaps, 0.0).mean()),
        "kinetic_J": report.kinetic_energy,
        "mean_speed": float(speeds(sim).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=20, help="balls along each side, and layers (default 20)")
    parser.add_argument("--frames", type=int, default=300, help="steps at most (default 300)")
    parser.add_argument("--minutes", type=float, default=0.0, help="of pouring at most (default: no limit)")
    parser.add_argument("--rest", type=float, default=0.01, help="mean speed at which balls rest, m/s (default 0.01)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads to measure (default 1,2)")
    parser.add_argument("--steps", type=int, default=5, help="steps to measure with each (default 5)")
    parser.add_argument("--step", type=float, default=1 / 160, help="time step (default 1/160 s)")
    parser.add_argument("--iterations", type=int, default=15, help="of the contact solver a step (default 15)")
    parser.add_argument("--solver", default="contact-sets", help="of contacts, by name (default contact-sets)")
    parser.add_argument("--radius", type=float, default=0.05, help="of the largest ball, m (default 0.05)")
    parser.add_argument("--smallest", type=float, default=0.75, help="radius of the smallest, in that (default 0.75)")
    parser.add_argument("--spacing", type=float, default=2.04, help="of neighbours at first, in that (default 2.04)")
    parser.add_argument("--friction", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--every", type=int, default=2, help="steps from one picture of the film to the next (default 2)"
    )
    parser.add_argument("--film", default="pile.mp4", help="its name: .mp4 or .gif (default pile.mp4)")
    parser.add_argument("--resume", type=Path, default=None, help="checkpoint to go on from")
    parser.add_argument("--out", type=Path, default=Path("ball-pile"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    counts = [int(part) for part in arguments.threads.split(",")]
    clock = time.perf_counter()
    sim = make(arguments, max(counts))
    print(f"{len(sim.bodies):,} bodies made in {time.perf_counter() - clock:.1f} s", file=sys.stderr, flush=True)
    if arguments.resume is not None:
        with np.load(arguments.resume) as found:
            go_on(sim, dict(found))
    pictures, rows = pour(sim, arguments)
    state = state_of(sim)
    np.savez(arguments.out / "checkpoint.npz", **state)
    settings = {name: str(value) for name, value in vars(arguments).items() if name not in ("out", "resume")}
    Image.fromarray(Painter(make(arguments, 1)).draw(sim)).save(arguments.out / "pile.png")
    write_film(arguments.out / arguments.film, iter(pictures), SIZE, 25.0, provenance(settings))
    runs = [measured(arguments, state, threads) for threads in counts]
    same = len({run["digest"] for run in runs}) == 1
    about = {"bodies": len(sim.bodies), "settings": settings, "poured": rows, "runs": runs, "same_bits": same}
    (arguments.out / "pile.json").write_text(json.dumps(about, indent=1))
    last = rows[-1] if rows else {}
    print(
        f"{len(sim.bodies):,} bodies, {sim.frames} steps of {arguments.step:.5f} s, {arguments.iterations} iterations; "
        f"poured in {sum(row['seconds'] for row in rows):.0f} s; "
        f"mean speed {last.get('mean_speed', 0.0):.4f} m/s, kinetic energy {last.get('kinetic_J', 0.0):.3g} J"
    )
    print("| threads | contacts | colours | seconds a step | detect | solve | apart | move | deepest | mean overlap |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for run in runs:
        parts = " | ".join(f"{run['stages'][name]:.2f}" for name in ("detect", "solve", "apart", "move"))
        print(
            f"| {run['threads']} | {run['contacts']:,} | {run['colours']} | {run['seconds']:.2f} ({run['least']:.2f} "
            f"to {run['most']:.2f}) | {parts} | {run['deepest_mm']:.2f} mm | {run['mean_overlap_mm']:.3f} mm |"
        )
    print("same bits with all numbers of threads" if same else "BITS DIFFER between numbers of threads")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
