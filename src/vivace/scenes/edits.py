"""Pins and cuts that somebody has made of a scene's body, as they are written down.

[edits]
vertices = 1600                      # of the body before them
cuts = [[[12, 13], [44, 45]]]        # of each cut: pairs of elements (triangles, tetrahedra, lines) that have parted
pins = [0, 39]                       # all that is held, where it starts: vertices by their numbers after the cuts

Elements keep their numbers when a body is cut, and the same pairs double the same vertices, so that a body is the same
again to the last vertex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import is_whole, shown
from ..errors import InputError
from ..model.attachments import attached_to
from ..model.cutting import CutModel, part_model
from ..model.model import Model
from .scene import Scene

MOST_CUTS = 40  # of a scene
MOST_GROWTH = 2  # times the vertices that it began with
ENTRIES = ("vertices", "cuts", "pins")


@dataclass(frozen=True, eq=False)
class Edits:
    """What was made of a body.

    Attributes:
        vertices: how many it had before.
        cuts: (p, 2) pairs of elements that each cut has parted, in the order of the cuts.
        pins: all vertices that are held, by their numbers after the cuts; None: those of the scene.
    """

    vertices: int
    cuts: tuple[np.ndarray, ...] = ()
    pins: tuple[int, ...] | None = None

    @classmethod
    def of(cls, table: Any) -> Edits:
        """From a table of a scene file, checked as far as that goes without the body."""
        if not isinstance(table, dict) or set(table) - set(ENTRIES):
            raise InputError(f"[edits] is a table with {', '.join(ENTRIES)}, not {shown(table)}")
        given: dict[str, Any] = table
        vertices, cuts, pins = given.get("vertices", 0), given.get("cuts"), given.get("pins")
        if not is_whole(vertices) or not vertices > 0:
            raise InputError(f"[edits] says how many vertices the body had before, not {shown(vertices)}")
        if not isinstance(cuts, (list, type(None))) or len(cuts or ()) > MOST_CUTS:
            raise InputError(f"cuts of [edits] are a list of {MOST_CUTS} at most, not {shown(cuts)}")
        if pins is not None and not (isinstance(pins, list) and all(is_whole(pin) and pin >= 0 for pin in pins)):
            raise InputError(f"pins of [edits] are numbers of vertices, not {shown(pins)}")
        return cls(int(vertices), tuple(map(_pairs, cuts or ())), None if pins is None else tuple(map(int, pins)))

    def table(self) -> dict[str, Any]:
        """As a table of a scene file."""
        table: dict[str, Any] = {"vertices": self.vertices}
        if self.cuts:
            table["cuts"] = [pairs.tolist() for pairs in self.cuts]
        if self.pins is not None:
            table["pins"] = list(self.pins)
        return table

    def check(self, model: Model) -> None:
        """Whether they are of this body."""
        if model.n != self.vertices:
            raise InputError(
                f"these pins and cuts are of a body of {self.vertices:,} vertices, and this one has {model.n:,}"
            )


def parted(model: Model, pairs: np.ndarray, first: int) -> CutModel:
    """Make a cut again. `first`: vertices of the body before all cuts."""
    made = part_model(model, pairs)
    if made.model.n > MOST_GROWTH * first:
        raise InputError(f"cuts may double the {first:,} vertices of a scene and no more")
    return made


def pinned_at_start(model: Model, pins: Sequence[int], start: np.ndarray) -> Model:
    """The model with these vertices held and no others: as the scene holds them, or where they start (n, 3)."""
    wanted = np.unique(np.asarray(pins, np.int64))
    if len(wanted) and wanted[-1] >= model.n:
        raise InputError(f"there is no vertex {wanted[-1]} to pin: the body has {model.n:,}")
    others = np.setdiff1d(model.pinned, [*wanted, *attached_to(model.attachments)])
    model = model.unpin(others) if len(others) else model
    new = np.setdiff1d(wanted, model.pinned)
    return model.pin(new, target=np.asarray(start, np.float64)[new]) if len(new) else model


def with_edits(scene: Scene, edits: Edits) -> Scene:
    """A scene whose body is pinned and cut as was written down."""
    edits.check(scene.model)
    model, start = scene.model, scene.start
    for pairs in edits.cuts:
        made = parted(model, pairs, edits.vertices)
        model, start = made.model, start if start is None else start[made.parents]
    if edits.pins is not None:
        model = pinned_at_start(model, edits.pins, model.mesh.vertices if start is None else start)
    return replace(scene, model=model, start=start)


def written_in(scene: Scene) -> Edits | None:
    """What the file of a scene says of edits, which its model has already."""
    known = scene.settings
    table = known.get("edits") or known.get("description", {}).get("edits")
    return None if table is None else Edits.of(table)


def _pairs(rows: Any) -> np.ndarray:
    whole = isinstance(rows, list) and all(
        isinstance(row, list) and len(row) == 2 and all(map(is_whole, row)) for row in rows
    )
    if not whole or not rows:
        raise InputError(f"a cut of [edits] is pairs of elements that have parted, not {shown(rows)}")
    return np.array(rows, np.int64)
