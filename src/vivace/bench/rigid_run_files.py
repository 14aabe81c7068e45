"""What a run of rigid bodies leaves behind: a picture, a film, a cache that other programs play, or the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..caches import CACHES, export
from ..errors import MissingExtraError
from ..files import replacing
from ..pictures.bodies import film_of_bodies
from ..pictures.plots import Panel
from ..pictures.stages import timelines
from .rigid_run import RigidRun
from .run import Progress


def write_rigid_run(
    run: RigidRun, target: Path, *, unit: str | None = None, up: str | None = None, progress: Progress | None = None
) -> tuple[list[Path], list[str]]:
    """Write what the suffix of `target` asks for, from a recorded run; an animation gets pictures too.

    Returns the files written and notes for the user, as `write_run` does for soft bodies. A cache has the surfaces of
    all bodies that move, as one mesh.
    """
    suffix = target.suffix.lower()
    if suffix == ".npz":
        _write_numbers(run, target)
        return [target], []
    if not run.finite:
        return [], ["the simulation did not stay finite: no picture was drawn"]
    film = film_of_bodies(
        run.scene.bodies, run.positions, run.orientations, run.sim.time_step, view=run.scene.view,
        settings=run.settings(),
    )  # fmt: skip
    tell = None if progress is None else lambda done, total: progress("drawing", done, total)
    if suffix in CACHES:
        frames, triangles = film.drawn()
        made: dict[str, Any] = {"unit": unit, "up": up, "name": run.scene.name, "settings": run.settings()}
        export(frames, target, time_step=film.h, surface=triangles, progress=tell, **made)
        return [target], []
    picture = target if suffix == ".png" else target.with_suffix(".png")
    written, notes = [picture], {film.write_last(picture)}
    if len(run.ms) > 1:
        written.append(picture.with_name(f"{picture.stem}-trace.png"))
        _draw_trace(run, written[-1])
    if suffix != ".png":
        try:
            notes.add(film.write(target, tell))
        except MissingExtraError as error:
            notes.add(f"{error}; a GIF was written instead")
            target = target.with_suffix(".gif")
            notes.add(film.write(target, tell))
        written.append(target)
    return written, sorted(note for note in notes if ";" in note)


def _draw_trace(run: RigidRun, target: Path) -> None:
    """Contacts, overlaps, energy, and where the time of every frame went."""
    frames = np.arange(1, len(run.ms) + 1)

    def panel(title: str, ylabel: str, **curves: np.ndarray) -> Panel:
        return Panel({name: (frames, values) for name, values in curves.items()}, title, "frame", ylabel)

    trace = run.trace
    rows = [
        [
            panel("contacts", "", contacts=trace["contacts"]),
            panel("kinetic energy", "J", energy=trace["kinetic_energy"]),
        ],
        [panel("stages", "ms", **run.stages_ms), panel("deepest overlap", "mm", overlap=1e3 * trace["depth"])],
    ]
    timelines(target, rows, settings=run.settings())


def _write_numbers(run: RigidRun, target: Path) -> None:
    trace: dict[str, Any] = {**run.trace, **{f"ms_{stage}": values for stage, values in run.stages_ms.items()}}
    with replacing(target) as temporary:
        np.savez_compressed(
            temporary,
            positions=np.stack(run.positions[1:]),
            orientations=np.stack(run.orientations[1:]),
            first_positions=run.positions[0],
            first_orientations=run.orientations[0],
            movable=run.sim.bodies.movable,
            masses=run.sim.bodies.masses,
            ms=run.ms,
            version=np.array(run.settings()["version"]),
            settings=np.array(json.dumps(run.settings(), default=str)),
            **trace,
        )
