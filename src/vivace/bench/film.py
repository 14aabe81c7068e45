"""What a run leaves behind to look at: a picture, an animation, or the numbers themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..files import replacing
from ..pictures import (
    Camera,
    Look,
    Scenery,
    body_colours,
    bounds_of,
    save_animation,
    save_picture,
)
from ..pictures.plots import Panel
from ..pictures.stages import timelines
from .run import Progress, Run

RUN_SUFFIXES = (".mp4", ".gif", ".png", ".npz")
FASTEST = {".gif": 50.0, ".mp4": 1000.0}  # frames a second
SLOWEST = 0.1  # frames a second; a GIF's delays end at 655 s


def write_run(run: Run, target: Path, *, progress: Progress | None = None) -> tuple[list[Path], list[str]]:
    """Write what the suffix of `target` asks for, from a run with recorded positions; an animation gets a picture too.

    Returns the files written and notes for the user: a graphics library that is missing costs the picture's finish,
    or the film its format, but never the run.
    """
    suffix = target.suffix.lower()
    if suffix == ".npz":
        _write_numbers(run, target)
        return [target], []
    if not run.finite:
        return [], ["the simulation did not stay finite: no picture was drawn"]
    mesh, frames, h = run.sim.model.mesh, run.positions, run.sim.time_step
    triangles = mesh.triangles if len(mesh.triangles) else None
    collisions = run.sim.model.collisions
    scenery = Scenery.of(collisions.colliders, *bounds_of(frames)) if collisions else None

    def camera(shown: list[np.ndarray]) -> Camera:
        low, high = bounds_of(shown)
        return Camera.framing(*(scenery.frame(low, high) if scenery else (low, high)), direction=run.scene.view)

    common: dict[str, Any] = {
        "edges": None if len(mesh.triangles) else mesh.edges,
        "points": run.sim.model.pinned,
        "colours": body_colours(mesh.groups, mesh.n_vertices, Look().front),
        "scenery": scenery,
        "camera": camera(frames[-1:]),
        "settings": run.settings(),
    }
    picture = target if suffix == ".png" else target.with_suffix(".png")
    written, notes = [picture], {save_picture(picture, frames[-1], triangles, **common)}
    if collisions and len(run.ms) > 1:
        written.append(picture.with_name(f"{picture.stem}-trace.png"))
        _draw_trace(run, written[-1])
    if suffix != ".png":
        common["camera"] = camera(frames)
        every, common["fps"] = _pace(h, suffix)
        if progress is not None:
            common["progress"] = lambda done, total: progress("drawing", done, total)
        try:
            notes.add(save_animation(target, frames[::every], triangles, **common))
        except MissingExtraError as error:
            notes.add(f"{error}; a GIF was written instead")
            target = target.with_suffix(".gif")
            every, common["fps"] = _pace(h, ".gif")
            notes.add(save_animation(target, frames[::every], triangles, **common))
        written.append(target)
    return written, sorted(note for note in notes if ";" in note)


def _draw_trace(run: Run, target: Path) -> None:
    """Contacts, the colours that follow them, and where the time of every frame went."""
    frames = np.arange(1, len(run.ms) + 1)

    def panel(title: str, ylabel: str, **curves: np.ndarray) -> Panel:
        return Panel({name: (frames, values) for name, values in curves.items()}, title, "frame", ylabel)

    rows = [
        [panel("contacts", "", contacts=run.trace["contacts"]), panel("colours", "", colours=run.trace["colours"])],
        [panel("stages", "ms", **run.stages_ms), panel("recolouring", "ms", colour=run.stages_ms["colour"])],
    ]
    timelines(target, rows, settings=run.settings())


def _pace(h: float, suffix: str) -> tuple[int, float]:
    """Which frames to show (every k-th) and how many a second, as near to simulated time as the format goes."""
    every = max(1, int(np.ceil(1 / (FASTEST[suffix] * h))))
    return every, max(SLOWEST, min(FASTEST[suffix], 1.0 / (every * h)))


def _write_numbers(run: Run, target: Path) -> None:
    mesh = run.sim.model.mesh
    settings = np.array(json.dumps(run.settings(), default=str))
    trace: dict[str, Any] = {**run.trace, **{f"ms_{stage}": values for stage, values in run.stages_ms.items()}}
    with replacing(target) as temporary:
        np.savez_compressed(
            temporary,
            positions=np.stack(run.positions),
            triangles=mesh.triangles,
            tets=mesh.tets,
            pinned=run.sim.model.pinned,
            settings=settings,
            **trace,
        )
