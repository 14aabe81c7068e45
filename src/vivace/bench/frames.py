"""What a run has seen so far: one row of figures a frame, and, where it is recorded, where everything was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..simulation.report import Report
from ..simulation.rigid_simulation import RigidReport
from .motion import Stretch
from .spool import Spool

Row = dict[str, Any]  # numbers, words and None by the name of a column
STAGE, PHASE = "stage_ms_", "phase_ms_"


@dataclass(eq=False)
class FrameLog:
    """The frames of a run, in order.

    Attributes:
        rows: the figures of each: what `vivace run --trace` writes.
        folder: where recorded arrays go, on its disk; None: they stay in memory.
        recorded: arrays of each by name, if they are recorded.
    """

    folder: Path | None = None
    rows: list[Row] = field(default_factory=list)
    recorded: dict[str, list[np.ndarray] | Spool] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: Row, arrays: Mapping[str, np.ndarray]) -> None:
        """One more frame."""
        for name, array in arrays.items():
            if name not in self.recorded:
                self.recorded[name] = [] if self.folder is None else Spool(self.folder)
            self.recorded[name].append(array)
        self.rows.append(row)

    def column(self, name: str) -> np.ndarray:
        """A column as an array; what a frame does not have is 0 among whole numbers, and NaN else."""
        values = [row.get(name) for row in self.rows]
        whole = all(value is None or isinstance(value, int) for value in values)
        return np.array([(0 if whole else math.nan) if value is None else value for value in values])

    def group(self, prefix: str) -> dict[str, np.ndarray]:
        """Columns whose name begins so, by the rest of it; those of the last frame first, and 0 where there is none."""
        names = dict.fromkeys(name for row in reversed(self.rows) for name in row if name.startswith(prefix))
        return {name[len(prefix) :]: np.array([row.get(name) or 0.0 for row in self.rows]) for name in names}

    def marked(self, name: str) -> dict[int, float]:
        """The frames that have a figure which most have not, and the figure."""
        return {row["frame"]: row[name] for row in self.rows if row.get(name) is not None}

    def counted(self, name: str) -> dict[str, int]:
        """Words of a column, and in how many frames they stand."""
        found: dict[str, int] = {}
        for row in self.rows:
            if row.get(name):
                found[row[name]] = found.get(row[name], 0) + 1
        return found


def soft_row(report: Report, seconds: float, drawn: Stretch | None) -> Row:
    """The figures of a step of soft bodies."""
    row = {
        "frame": report.number, "time": seconds, "ms": report.ms, "late_ms": report.late_ms, "sweeps": report.sweeps,
        "ms_per_sweep": report.ms_per_sweep, "substeps": report.substeps, "residual": float(report.residual),
        "stopped": report.stopped, "contacts": report.contacts, "colours": report.colours,
        "corrected": report.corrected,
        "finite": report.finite, "note": report.note or None, "relative_error": None, "relative_gradient": None,
    }  # fmt: skip
    names = ("stretch_mean", "stretch_rms", "stretch_max")
    row |= dict(zip(names, drawn or (None, None, None), strict=True))
    if report.bodies is not None:
        row |= {"body_contacts": report.bodies.contacts, "body_depth": report.bodies.depth}
        row |= {"kinetic_energy": report.bodies.kinetic_energy}
    return row | _milliseconds(STAGE, report.stages) | _milliseconds(PHASE, report.phases)


def rigid_row(report: RigidReport, seconds: float, ms: float) -> Row:
    """The figures of a step of rigid bodies."""
    return {
        "frame": report.frame, "time": seconds, "ms": ms, "late_ms": report.late_ms, "iterations": report.iterations,
        "residual": report.residual, "tries": report.tries, "contacts": len(report.contacts),
        "colours": len(report.colours), "depth": report.depth, "kinetic_energy": report.kinetic_energy,
        **_milliseconds(STAGE, report.stages),
    }  # fmt: skip


def _milliseconds(prefix: str, parts: Mapping[str, float]) -> Row:
    return {f"{prefix}{name}": float(ms) for name, ms in parts.items()}


# --- as columns -------------------------------------------------------------------------------------------------------


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """The rows as columns, all of one length: what a row does not have is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def packed_columns(rows: Sequence[Row]) -> dict[str, Any]:
    """The columns for a file: numbers as arrays."""
    return {name: _packed(values) for name, values in columns_of(rows).items()}


def unpacked_rows(columns: Mapping[str, Any]) -> list[Row]:
    """The rows of what `packed_columns` made."""
    lists = {name: _unpacked(values) for name, values in columns.items()}
    count = max((len(values) for values in lists.values()), default=0)
    return [{name: values[k] for name, values in lists.items()} for k in range(count)]


def _packed(values: list[Any]) -> Any:
    for kind, dtype in ((bool, np.bool_), (int, np.int64)):
        if all(type(value) is kind for value in values):
            return np.array(values, dtype)
    if all(value is None or type(value) is float for value in values):
        return np.array([math.nan if value is None else value for value in values])
    return values


def _unpacked(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        return [None if value != value else value for value in values.tolist()]
    return list(values)
