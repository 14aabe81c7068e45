"""Frames as bytes: made outside the physics thread, once for all clients that look at the same frame."""

from __future__ import annotations

import math

import numpy as np

from .body_mesh import BodyReport
from .colours import values_of
from .messages import FrameData, GhostView, ViewData
from .pace import Pace
from .packing import pack, quantised
from .snapshot import GhostFrame, SimulationView, Snapshot

MOST_RESIDUALS = 120  # points of a curve; a plot is not wider


def frame_message(snapshot: Snapshot, precision: int, pace: Pace | None = None) -> bytes:
    """A frame; `precision`: bits of a coordinate, 16 or 32; `pace`: what has been shown of the session before."""
    arrays: dict[str, np.ndarray] = {}
    views = [_view(k, view, snapshot, precision, arrays) for k, view in enumerate(snapshot.views)]
    header = FrameData(
        snapshot.number,
        snapshot.backdrop.number,
        snapshot.time,
        snapshot.speed,
        (pace or Pace()).why_slow(snapshot),
        snapshot.settings.colour_by,
        snapshot.orders,
        views,
        [list(shift) for shift in snapshot.views[0].shifts] if snapshot.views else [],
        _ghost(snapshot.ghost, arrays),
        arrays={},
    )
    return pack(header, arrays)


def _ghost(ghost: GhostFrame | None, arrays: dict[str, np.ndarray]) -> GhostView | None:
    if ghost is None:
        return None
    arrays["ghost"], low, scale = quantised(np.ascontiguousarray(ghost.positions))
    at = ghost.frame, ghost.frames, ghost.seconds, ghost.rms, ghost.largest
    return GhostView(*at, low.tolist(), scale.tolist())


def _view(k: int, view: SimulationView, snapshot: Snapshot, precision: int, arrays: dict[str, np.ndarray]) -> ViewData:
    report = view.report
    positions = np.ascontiguousarray(view.vertices)
    strain, mean, largest = snapshot.backdrop.strain(np.ascontiguousarray(report.positions))
    values = values_of(snapshot.settings.colour_by, view, strain, snapshot.backdrop.terms)
    low, scale = np.zeros(3), np.ones(3)
    if precision == 16 and not snapshot.backdrop.spread(positions):
        arrays[f"positions{k}"], low, scale = quantised(positions)
    else:
        arrays[f"positions{k}"] = positions
    arrays[f"values{k}"] = values.bytes
    return ViewData(
        view.solver,
        view.used,
        view.frames,
        report.sweeps,
        report.residual,
        _thinned(report.residuals),
        list(report.stages.items()),
        report.ms,
        view.budget_ms,
        report.colours,
        report.contacts,
        report.corrected,
        report.note,
        [mean, largest],
        low.tolist(),
        scale.tolist(),
        [values.low, values.high],
        values.unit,
        list(view.held),
        [list(point) for point in view.held_points],
        report.depth if isinstance(report, BodyReport) else None,
    )


def _thinned(residuals: np.ndarray) -> list[list[float]]:
    """At most MOST_RESIDUALS of the points, the last among them."""
    every = max(1, math.ceil(len(residuals) / MOST_RESIDUALS))
    kept = residuals[::every]
    if len(residuals) and (len(residuals) - 1) % every:
        kept = np.concatenate([kept, residuals[-1:]])
    points: list[list[float]] = kept.tolist()
    return points
