"""What every peer is given, and what it hands back. NumPy only: it runs in every peer's own Python.

A peer's file has settings by name, simulates the problem with one of them, and writes an .npz:

    positions  (frames, n, 3) m, in our order of vertices, y up
    ms         (frames,) milliseconds of each frame; the first is cold
    start_s    seconds to build the model
    about      JSON: peer, version, threads, setting (in words), note
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

FRAME_S = 0.033
FIT_MS = 33.0  # what a frame may take at the settings that fit
TRIAL = 6  # frames that a setting is tried for; the first is cold and does not count
FAR = 10.0  # m: what is farther away has blown up


@dataclass
class Problem:
    """The tablecloth: arrays in our order, y up, SI units."""

    vertices: np.ndarray  # (n, 3)
    triangles: np.ndarray  # (t, 3)
    edges: np.ndarray  # (e, 2)
    hinges: np.ndarray  # (h, 4): edge, then the two opposite corners
    masses: np.ndarray  # (n,)
    pinned: np.ndarray
    resolution: int
    side: float
    density: float  # kg/m²
    stretch: float  # N/m, of the spring of each edge
    bend: float  # N·m, of each hinge
    air: float  # 1/s
    gravity: float  # m/s², downwards

    def scalars(self) -> np.ndarray:
        return np.array([self.side, self.density, self.stretch, self.bend, self.air, self.gravity])

    @property
    def n(self) -> int:
        return len(self.vertices)

    @property
    def spacing(self) -> float:
        """Between neighbours of a row (m)."""
        return self.side / (self.resolution - 1)

    def shell(self) -> tuple[float, float, float]:
        """Young's modulus (Pa), Poisson's ratio and thickness (m) of the sheet that the springs and hinges make.

        Springs of k (N/m) along rows, columns and one diagonal of a square grid have C11 = 3/2 k, C12 = C33 = 1/2 k
        (N/m), up to a coupling of stretch and shear: E t = 4/3 k and ν = 1/3. The hinges' flexural rigidity is 3 bend
        along the rows: E t³ / (12 (1 - ν²)).
        """
        poisson, modulus = 1 / 3, 4 / 3 * self.stretch
        thickness = np.sqrt(3 * self.bend * 12 * (1 - poisson**2) / modulus)
        return modulus / thickness, poisson, float(thickness)

    def hinge_stiffness(self) -> np.ndarray:
        """k (N·m) of k/2 θ² with the energy of each hinge for small angles: 3 bend |edge|² / (A₁ + A₂)."""
        x0, x1, x2, x3 = (self.vertices[self.hinges[:, k]] for k in range(4))
        area = sum(0.5 * np.linalg.norm(np.cross(x1 - x0, x - x0), axis=1) for x in (x2, x3))
        return 3 * self.bend * ((x1 - x0) ** 2).sum(1) / area

    def save(self, path: Path) -> None:
        np.savez(path, **asdict(self))

    @classmethod
    def load(cls, path: Path) -> Problem:
        with np.load(path) as stored:
            return cls(**{key: stored[key] if stored[key].ndim else stored[key].item() for key in stored.files})


@dataclass
class Running:
    """A simulation under way: `frame` walks one frame of 33 ms, `positions` says where everything is."""

    frame: Callable[[], None]
    positions: Callable[[], np.ndarray]
    setting: str  # in words
    untimed: Callable[[], None] | None = None  # after each frame: what stands in for something the peer lacks


def some(number: int, thing: str) -> str:
    """1 step, 2 steps."""
    return f"{number} {thing}{'s' if number > 1 else ''}"


def measure(make: Callable[[], Running], frames: int, limit_s: float = np.inf) -> dict:
    """Simulate from the start; what the file holds, but for what describes the peer.

    Frames after `limit_s` seconds, or after it blew up, are NaN.
    """
    begin = time.perf_counter()
    running = make()
    start_s = time.perf_counter() - begin
    ms, path, note, until = [], [], "", time.perf_counter() + limit_s
    for k in range(frames):
        begin = time.perf_counter()
        running.frame()
        now = np.asarray(running.positions(), np.float32)
        ms.append(1e3 * (time.perf_counter() - begin))
        path.append(now)
        if running.untimed:
            running.untimed()
        if not np.isfinite(now).all() or np.abs(now).max() > FAR:
            note = f"blew up in frame {k + 1}"
        elif time.perf_counter() > until and k + 1 < frames:
            note = f"stopped after {k + 1} frames: too slow"
        if note:
            path += [np.full_like(now, np.nan)] * (frames - k - 1)
            ms += [np.nan] * (frames - k - 1)
            break
    return {
        "positions": np.array(path),
        "ms": np.array(ms),
        "start_s": start_s,
        "setting": running.setting,
        "note": note,
    }


def fitting(make: Callable[[int], Running], works: Iterable[int], ms: float = FIT_MS) -> int:
    """The most work a frame that stays under `ms`; the least there is if nothing does. `works`: rising."""
    works = list(works)
    best = works[0]
    for work in works:
        took = np.min(measure(lambda work=work: make(work), TRIAL)["ms"][1:])  # whatever else the machine does
        print(f"work {work}: {took:.1f} ms a frame", flush=True)
        if not took <= ms:
            break
        best = work
    return best


def serve(
    peer: str,
    version: Callable[[], str],
    settings: dict[str, Callable[[Problem], Callable[[], Running]]],
    *,
    threads: int,
) -> None:
    """The command line of a peer. A setting makes, of a problem, what starts a simulation."""
    parser = argparse.ArgumentParser(description=f"the tablecloth by {peer}; run.py calls this")
    parser.add_argument("--problem", type=Path)
    parser.add_argument("--setting", choices=list(settings))
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--limit", type=float, default=np.inf, help="seconds after which it stops")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true", help="print the names of the settings")
    arguments = parser.parse_args()
    if arguments.list:
        print(json.dumps(list(settings)))
        return
    problem = Problem.load(arguments.problem)
    found = measure(settings[arguments.setting](problem), arguments.frames, arguments.limit)
    words = {key: found.pop(key) for key in ("setting", "note")}
    about = {"peer": peer, "version": version(), "threads": threads, **words}
    temporary = arguments.out.with_name(f".{arguments.out.name}")
    np.savez_compressed(temporary, about=json.dumps(about), **found)
    os.replace(temporary, arguments.out)
