"""What commands print with --json, as JSON Schema: `vivace schema run`. A test holds the commands to it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from .._version import __version__
from .console import show_json

DETAILS = """Print the JSON Schema (draft 2020-12) of what a command prints with --json.

  vivace schema run > run.schema.json
  vivace run tablecloth --frames 30 --json | check-jsonschema --schemafile run.schema.json -"""

Entry = tuple[str, str]  # type, and what it means; "number?" may be null: there is none, or it is not finite

COMMON: dict[str, Entry] = {
    "frames": ("integer", "steps that were made"),
    "ms_per_frame_median": ("number", "median time of a step (ms)"),
    "ms_per_frame_p99": ("number", "99th percentile of it (ms)"),
    "stages_ms_median": ("numbers", "median time of each stage of a step (ms)"),
    "finite": ("boolean", "whether all positions stayed finite"),
    "warm_up_s": ("number", "time of compiling and of the first steps, before anything was measured (s)"),
    "interrupted": ("boolean", "whether fewer frames were made than asked for"),
    "resumed_from_frame": ("integer", "the checkpoint's frame, 0 if there was none"),
    "settings": ("object", "all that is needed to make the run again"),
    "written": ("strings", "files that were written"),
    "notes": ("strings", "what a user should know"),
}
CONTACTS: dict[str, Entry] = {
    "contacts_median": ("number", "contacts of a step"),
    "contacts_most": ("integer", "the most of them"),
    "colours_most": ("integer", "the most colours that contacts and constraints had"),
}
RUN: dict[str, Entry] = {
    **COMMON,
    "sweeps_per_frame_median": ("number", "sweeps of a step"),
    "ms_per_sweep_median": ("number", "time of a sweep (ms)"),
    "colours": ("integer?", "colours of the constraint graph; null where nothing is coloured"),
    "relative_error_median": ("number?", "1 is the prediction, 0 the minimum; null if it was not measured"),
    "stretch_mean": (
        "number?",
        "mean of absolute stretch of the springs, last third of the frames; null without springs",
    ),
    "stretch_rms": ("number?", "root of the mean square of it"),
    "stretch_max": ("number?", "the largest"),
    "solver_used": ("string", "the solver that `auto` chose, or the one that was asked for"),
    "vertices": ("integer", "of the model"),
    "triangles": ("integer", "of its surface"),
    "tets": ("integer", "of its volume"),
    "constraints": ("numbers", "how many of each kind"),
    "phases_ms_median": ("numbers", "median time of each phase of the solve (ms)"),
}
TOUCHING: dict[str, Entry] = {
    **CONTACTS,
    "colours_least": ("integer", "the fewest"),
    "recolouring_ms_median": ("number", "time of colouring contacts (ms)"),
    "corrected_most": ("integer", "the most vertices that the guard stopped in a frame"),
}
RIGID: dict[str, Entry] = {
    **COMMON,
    **CONTACTS,
    "bodies": ("integer", "of the scene"),
    "free_bodies": ("integer", "those that can move"),
    "contacts_end": ("integer", "in the last frame"),
    "iterations_per_frame_median": ("number", "of the contact solver"),
    "late_ms_most": ("number", "the most that a step was beyond its budget (ms)"),
    "depth_most": ("number", "deepest overlap (m)"),
    "depth_end": ("number", "in the last frame (m)"),
    "kinetic_energy_most": ("number", "the largest (J)"),
    "kinetic_energy_end": ("number", "in the last frame (J)"),
    "moved_least": ("number?", "of the free bodies, from where they began (m); null where there are none"),
    "moved_median": ("number?", "the median (m)"),
    "moved_most": ("number?", "the most (m)"),
}
SWEEP: dict[str, Entry] = {
    "runs": ("integer", "of the sweep"),
    "made": ("integer", "now"),
    "kept": ("integer", "from before, by --resume"),
    "failed": ("integer", "rows with an error"),
    "written": ("strings", "files that were written"),
    "rows": ("objects", "one a run: its number, values, seed, error or null, and figures"),
}
REPLAY: dict[str, Entry] = {
    "frames": ("integer", "steps that were made"),
    "recorded": ("integer", "those that are in the film"),
    "scene": ("string", "its name"),
    "bits": ("string", "SHA-256 of positions and velocities at the end"),
    "written": ("strings", "files that were written"),
    "notes": ("strings", "what a user should know"),
}
TYPES: dict[str, dict[str, Any]] = {
    "numbers": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
    "strings": {"type": "array", "items": {"type": "string"}},
    "objects": {"type": "array", "items": {"type": "object"}},
}


def _object(title: str, entries: Mapping[str, Entry], sometimes: Mapping[str, Entry] | None = None) -> dict[str, Any]:
    both = {**entries, **(sometimes or {})}
    return {
        "title": title, "type": "object", "required": sorted(entries), "additionalProperties": False,
        "properties": {name: {**_type(kind), "description": told} for name, (kind, told) in both.items()},
    }  # fmt: skip


def _type(kind: str) -> dict[str, Any]:
    if kind in TYPES:
        return TYPES[kind]
    return {"type": [kind[:-1], "null"]} if kind.endswith("?") else {"type": kind}


def _figures(kind: str) -> dict[str, Any]:
    """Figures of runs that did not stay finite are null."""
    loosen = {
        name: (f"{k}?" if k == "number" else k, told) for name, (k, told) in (RUN if kind == "run" else RIGID).items()
    }
    return _object("a run of soft bodies" if kind == "run" else "a run of rigid bodies", loosen,
                   TOUCHING if kind == "run" else None)  # fmt: skip


def schemas() -> dict[str, dict[str, Any]]:
    """By command."""
    made = {
        "run": {"title": "vivace run --json", "oneOf": [_figures("run"), _figures("rigid")]},
        "sweep": _object("vivace sweep --json", SWEEP),
        "replay": _object("vivace replay --json", REPLAY),
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": f"vivace {__version__}"}
    return {name: {**head, **schema} for name, schema in made.items()}


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    sub.add_argument("what", choices=sorted(schemas()), help="the command whose --json it is")


def show(arguments: argparse.Namespace) -> None:
    """Print a schema: `vivace schema`."""
    show_json(schemas()[arguments.what])
