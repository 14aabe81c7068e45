"""Colours kept from frame to frame ÷ colours from scratch. A part of `position_based.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from position_based_common import Found, Options, Rows, timed_ms, told

from vivace.bench.pbd import spread
from vivace.colouring import (
    ContactColours,
    WarmConstraints,
    colour,
    colour_constraints,
    is_valid,
    is_valid_constraint_colouring,
    recolour_constraints,
    recolour_with,
)
from vivace.pictures import Panel
from vivace.pictures.stages import timelines
from vivace.scenes import Scene, make_scene
from vivace.solvers.projective.vertex_graph import vertex_graph

CHANGED, RECOLOURED_FRAMES, SCRATCH_EVERY = 0.05, 200, 5


def recolouring(options: Options) -> Found:
    """Every frame is checked; from scratch, every fifth, because it takes so much longer."""
    rows: Rows = []
    found: dict[str, object] = {}
    frames = options.frames or RECOLOURED_FRAMES
    lines = {}
    for name in ("s0", "s1"):
        scene = make_scene(name, scale=options.scale)
        for what, part in (("exchanged", exchanged), ("contacts", new_contacts), ("vertices", new_pairs)):
            ratios, counts, times, valid = part(scene, frames, options.threads)
            label = f"{name}, {what}"
            for method, values in ratios.items():
                rows.append((f"{label}: {method} ÷ from scratch", f"{told(values)}; {told(times[method])} ms"))
            for method, values in counts.items():
                text = f"{values[0]} at first, {min(values)} to {max(values)}, {values[-1]} at last"
                rows.append((f"{label}: colours by {method}, {frames} frames", text))
            rows.append((f"{label}: valid every time", "yes" if valid else "NO"))
            every = {"from scratch": SCRATCH_EVERY}
            lines[label] = {
                method: (1 + every.get(method, 1) * np.arange(len(values)), values) for method, values in counts.items()
            }
            found[label] = {
                "valid": valid,
                "colours": counts,
                **{method: {**spread("ratio", ratios[method]), **spread("ms", times[method])} for method in ratios},
                "from scratch": spread("ms", times["from scratch"]),
            }
    if options.out is not None:
        panels = [Panel(curves, title, "frame", "colours") for title, curves in lines.items()]
        grid = [panels[k : k + 3] for k in range(0, len(panels), 3)]
        timelines(options.out / "recolouring.png", grid, settings=options.settings(frames=frames, changed=CHANGED))
    return rows, {"changed": CHANGED, "frames": frames, **found}


class Recoloured:
    """What the ways to recolour took, in turns, and how many colours they had."""

    def __init__(self, names: Sequence[str]):
        self.times: dict[str, list[float]] = {name: [] for name in (*names, "from scratch")}
        self.ratios: dict[str, list[float]] = {name: [] for name in names}
        self.counts: dict[str, list[int]] = {name: [] for name in (*names, "from scratch")}
        self.valid = True

    def add(self, name: str, ms: float, count: int, valid: bool) -> None:
        self.times[name].append(ms)
        self.counts[name].append(int(count))
        self.valid = self.valid and valid

    def compare(self) -> None:
        """After a turn from scratch."""
        for name, ratios in self.ratios.items():
            ratios.append(self.times[name][-1] / self.times["from scratch"][-1])

    def __iter__(self):
        return iter((self.ratios, self.counts, self.times, self.valid))


def constraint_table(scene: Scene) -> np.ndarray:
    """All constraints of a scene in one table of four vertices, -1 where there are fewer."""
    found = []
    for group in scene.model.groups:
        if group.kind.vertices > 1:
            wide = np.full((len(group), 4), -1, np.int32)
            wide[:, : group.kind.vertices] = group.vertices
            found.append(wide)
    return np.concatenate(found)


def exchanged(scene: Scene, frames: int, threads: int) -> Recoloured:
    """Of all constraints 5 % are missing; in every frame others, chosen at random, take their place."""
    table, n, random = constraint_table(scene), scene.model.n, np.random.default_rng(0)
    out = max(1, round(CHANGED * len(table)))
    shuffled = random.permutation(len(table))
    live, missing = shuffled[out:].copy(), shuffled[:out].copy()
    first = colour_constraints(table[live], n)
    warm, colours = WarmConstraints(table[live], n, first.colours), first.colours.copy()
    result = Recoloured(("WarmConstraints", "recolour_constraints"))
    for frame in range(-2, frames):  # two that are not counted
        places = random.choice(len(live), out, replace=False)
        came, missing = missing, live[places].copy()
        added = table[came]
        ms, numbers = timed_ms(lambda places=places, added=added: warm.update(places, added))
        live[numbers] = came  # numbers are given out again in an order of their own
        now, previous = table[live], _without(colours, numbers)
        again_ms, again = timed_ms(lambda now=now, previous=previous: recolour_constraints(now, n, previous))
        colours = again.colours
        if frame < 0:
            continue
        result.add("WarmConstraints", ms, warm.count, _holds(now, n, warm.colours))
        result.add("recolour_constraints", again_ms, again.count, _holds(now, n, colours))
        if frame % SCRATCH_EVERY == 0:
            ms, scratch = timed_ms(lambda now=now: colour_constraints(now, n))
            result.add("from scratch", ms, scratch.count, _holds(now, n, scratch.colours))
            result.compare()
    return result


def _without(colours: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    colours = colours.copy()
    colours[numbers] = -1
    return colours


def _holds(table: np.ndarray, n: int, colours: np.ndarray) -> bool:
    return is_valid_constraint_colouring(table, n, colours)


def new_contacts(scene: Scene, frames: int, threads: int) -> Recoloured:
    """All constraints stay, and 5 % as many contacts (a vertex and a triangle, at random) are new in every frame."""
    own, n, random = constraint_table(scene), scene.model.n, np.random.default_rng(0)
    count = max(1, round(CHANGED * len(own)))
    first = colour_constraints(own, n)
    warm, contact_colours = WarmConstraints(own, n, first.colours), ContactColours(own, n, first.colours)
    numbers = np.zeros(0, np.int32)
    result = Recoloured(("WarmConstraints", "ContactColours"))
    for frame in range(-2, frames):
        contacts = random_contacts(scene, count, random)
        everything = np.concatenate([own, contacts])
        ms, numbers = timed_ms(lambda old=numbers, contacts=contacts: warm.update(old, contacts))
        brief_ms, brief = timed_ms(lambda contacts=contacts: contact_colours.colour(contacts))
        if frame < 0:
            continue
        held = np.concatenate([warm.colours[: len(own)], warm.colours[numbers]])
        result.add("WarmConstraints", ms, warm.count, _holds(everything, n, held))
        both = np.concatenate([first.colours, brief])
        result.add("ContactColours", brief_ms, both.max() + 1, _holds(everything, n, both))
        if frame % SCRATCH_EVERY == 0:
            ms, scratch = timed_ms(lambda everything=everything: colour_constraints(everything, n))
            result.add("from scratch", ms, scratch.count, _holds(everything, n, scratch.colours))
            result.compare()
    return result


def random_contacts(scene: Scene, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, 4) a triangle of the surface and a vertex that is not one of its own."""
    triangles = scene.model.mesh.triangles
    contacts = np.empty((count, 4), np.int32)
    contacts[:, :3] = triangles[random.integers(len(triangles), size=count)]
    contacts[:, 3] = random.integers(scene.model.n, size=count)
    own = (contacts[:, :3] == contacts[:, 3:]).any(axis=1)
    while own.any():
        contacts[own, 3] = random.integers(scene.model.n, size=int(own.sum()))
        own = (contacts[:, :3] == contacts[:, 3:]).any(axis=1)
    return contacts


def new_pairs(scene: Scene, frames: int, threads: int) -> Recoloured:
    """The graph of the vertices and, in every frame, new pairs: those of 5 % as many contacts as constraints.

    From scratch, the graph has to be built with the contacts in it; `recolour_with` takes them as they are.
    """
    own, n, random = constraint_table(scene), scene.model.n, np.random.default_rng(0)
    tables = [group.vertices for group in scene.model.groups if group.kind.vertices > 1]
    graph = vertex_graph(n, tables)
    colours = colour(*graph, seed=0, threads=threads).colours
    result = Recoloured(("recolour_with",))
    for frame in range(-2, frames):
        contacts = random_contacts(scene, max(1, round(CHANGED * len(own))), random)
        pairs = np.concatenate([contacts[:, ends] for ends in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))])
        kept = {"previous": colours, "check": False, "trust": True}
        ms, again = timed_ms(lambda pairs=pairs, kept=kept: recolour_with(*graph, pairs, **kept))
        colours = again.colours
        if frame < 0:
            continue
        apart = bool((colours[pairs[:, 0]] != colours[pairs[:, 1]]).all())
        result.add("recolour_with", ms, again.count, apart and is_valid(*graph, colours))
        if frame % SCRATCH_EVERY == 0:
            building_ms, merged = timed_ms(lambda contacts=contacts: vertex_graph(n, [*tables, contacts]))
            ms, scratch = timed_ms(lambda merged=merged: colour(*merged, seed=0, threads=threads, check=False))
            result.add("from scratch", building_ms + ms, scratch.count, is_valid(*merged, scratch.colours))
            result.compare()
    return result
