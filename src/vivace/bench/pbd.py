"""Table 1 of [fratarcangeli2013], measured here: what `vivace bench pbd` does.

As there, times leave out rendering and collision handling. Every solver is timed twice in every frame, without and with
collisions, and all of them from the same states: those of the coloured solver on most threads, with collisions.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, no_type_check

import numpy as np

from ..backends.cpu.arguments import GRAIN, phase_kernel, rows
from ..backends.cpu.executor import Plan, check_threads, default_threads
from ..backends.cpu.simd import load4, make4, store4
from ..checks import is_whole
from ..colouring import BalanceReport, Colouring, balance_report, smallest_last_bound
from ..constraints import ConstraintGroup, Role
from ..errors import InputError
from ..files import write_text
from ..interrupts import keeping
from ..scenes import SCENES, Scene, make_scene, parameters_of, soft
from ..scenes.papers import check_scale
from ..simulation.report import Report
from ..simulation.simulation import Simulation
from ..solvers import Budget
from ..solvers.position_based.base import BENDING_UNIT, Listed
from ..solvers.position_based.pbd_coloured import PbdColoured
from . import sweep
from .run import WARM_UP, Progress, settle
from .statistics import median, percentile

SERIAL, COLOURED = "pbd", "pbd-coloured"
TYPES = ("stretch", "bend", "volume")
FRAMES, ITERATIONS = 60, 8  # a measurement's frames; iterations where a scene does not say
WITHOUT_COLLISIONS = ("predict", "solve", "update")  # the stages that the paper's times are made of
ROW = 16  # bytes of a row of positions
PASS_MS = 4.0  # passes are repeated until they take as long, and timed together


class Printed(NamedTuple):
    """A row of Table 1; colours of stretch, bend and volume, frames a second on one core, on twelve, on a GPU."""

    particles: int
    constraints: tuple[int, int, int]
    colours: tuple[int, int, int]
    iterations: int
    fps: tuple[float, float, float]

    def row(self) -> dict[str, object]:
        """What the paper prints of a scene, by name."""
        pairs = zip(TYPES, self.constraints, self.colours, strict=True)
        fps = zip(("cpu_st", "cpu_mt", "gpu"), self.fps, strict=True)
        counted = {kind: {"constraints": count, "colours": colours} for kind, count, colours in pairs if count}
        return {"particles": self.particles, "constraints": counted, "iterations": self.iterations, "fps": dict(fps)}


PRINTED = {
    "s0": Printed(10_000, (29_000, 29_000, 0), (8, 18, 0), 8, (25, 73, 1105)),
    "s1": Printed(16_000, (80_000, 42_000, 50_000), (64, 20, 124), 4, (15, 45, 326)),
    "s2": Printed(91_000, (493_000, 0, 313_000), (17, 0, 26), 8, (3, 5, 700)),
}


@dataclass(eq=False)
class Timed:
    """One solver on some threads: milliseconds of each frame; contacts that there were."""

    solver: str
    threads: int
    ms: list[float] = field(default_factory=list)  # predict + solve + update, without collisions
    ms_with_collisions: list[float] = field(default_factory=list)  # the whole step
    contacts: list[int] = field(default_factory=list)
    finite: bool = True

    def row(self, serial: Timed) -> dict[str, object]:
        """What tables and files show of the run, by name; `serial`: the run that speed-ups are told against."""
        times = {f"fps_p{share}": 1e3 / _share(self.ms, 100 - share) for share in (10, 90)}
        speed_up = np.array(serial.ms) / np.array(self.ms)
        return {
            "solver": self.solver,
            "threads": self.threads,
            "fps_median": 1e3 / _share(self.ms, 50),
            **times,
            **spread("ms", self.ms),
            **spread("ms_with_collisions", self.ms_with_collisions),
            **spread("times_serial", speed_up),
            "contacts_median": median(self.contacts),
            "finite": self.finite,
        }


@dataclass(eq=False)
class Measured:
    """A scene of the table. `colourings`, `bounds`: of each type, and the colours that suffice by Eq. 14."""

    scene: Scene
    iterations: int
    frames: int
    groups: dict[str, ConstraintGroup]
    colourings: dict[str, Colouring]
    bounds: dict[str, int]
    runs: list[Timed]
    setup_s: float  # the scene and its colouring, everything compiled
    cold_start_s: float | None = None  # from a new process to the end of its first frame

    @property
    def balance(self) -> dict[str, BalanceReport]:
        """How evenly the colours of each type are filled [fratarcangeli2013, section 5.1]."""
        return {kind: balance_report(colouring) for kind, colouring in self.colourings.items()}

    def row(self) -> dict[str, object]:
        """The figures under the names that scripts rely on."""
        printed = PRINTED.get(self.scene.name)
        return {
            "scene": self.scene.name,
            "parameters": self.scene.settings.get("parameters", {}),
            "particles": self.scene.model.n,
            "constraints": {
                kind: {"constraints": len(group), "colours": self.colourings[kind].count, "bound": self.bounds[kind]}
                for kind, group in self.groups.items()
            },
            "iterations": self.iterations,
            "frames": self.frames,
            "setup_s": self.setup_s,
            "cold_start_s": self.cold_start_s,
            "runs": [run.row(self.runs[0]) for run in self.runs],
            "paper": printed.row() if printed else None,
        }


def spread(name: str, values: Sequence[float] | np.ndarray) -> dict[str, float | None]:
    """Median, tenth and ninetieth percentile under names that begin with `name`."""
    return {f"{name}_median": median(values), **{f"{name}_p{share}": percentile(values, share) for share in (10, 90)}}


def check_table(scenes: Sequence[str], scale: float, frames: int, threads: Sequence[int]) -> None:
    """Complain about names and numbers before anything is made."""
    if not len(scenes) or not len(threads):
        raise InputError("a table needs at least one scene and one number of threads")
    for what, values in (("scene", scenes), ("number of threads", threads)):
        for value in values:
            if list(values).count(value) > 1:
                raise InputError(f"the {what} {value!r} is there twice; leave one out")
    for name in scenes:
        SCENES[name]
        if "scale" not in parameters_of(name):
            raise InputError(f"scene {name!r} has no parameter 'scale'; choose among {', '.join(PRINTED)} and the like")
    for count in threads:
        check_threads(count)
    check_scale(scale)
    if not is_whole(frames) or frames < 1:
        raise InputError(f"a table needs at least one frame, not frames={frames!r}")


def table_1(
    scenes: Sequence[str] = tuple(PRINTED),
    *,
    scale: float = 1.0,
    frames: int = FRAMES,
    threads: Sequence[int] | None = None,
    cold: bool = False,
    progress: Progress | None = None,
) -> list[Measured]:
    """Measure every scene: serial, and coloured on each number of threads."""
    threads = sorted({1, default_threads()}) if threads is None else list(threads)
    check_table(scenes, scale, frames, threads)
    tell = progress or (lambda what, done, total: None)
    found: list[Measured] = []
    with keeping(found):
        for name in scenes:
            tell(f"{name}: making the scene", 0, 1)
            begin = time.perf_counter()
            scene = soft(make_scene(name, scale=scale))
            made_s = time.perf_counter() - begin
            tell(f"{name}: making the scene", 1, 1)
            measured = measure(scene, frames, threads, progress=tell)
            measured.setup_s += made_s
            if cold:
                tell(f"{name}: first frame of a new process", 0, 1)
                measured.cold_start_s = cold_start_s(name, scale, threads[-1])
                tell(f"{name}: first frame of a new process", 1, 1)
            found.append(measured)
    return found


def measure(scene: Scene, frames: int, threads: Sequence[int], *, progress: Progress | None = None) -> Measured:
    """Time a scene frame by frame; the solvers take turns, so that what else the machine does meets all alike."""
    tell = progress or (lambda what, done, total: None)
    iterations = scene.budget.iterations or ITERATIONS
    apart = replace(scene, model=replace(scene.model, collisions=None))
    pairs: list[tuple[Timed, Simulation, Simulation]] = []
    for solver, count in [(SERIAL, 1), *((COLOURED, count) for count in threads)]:
        tell(f"{scene.name}: preparing", len(pairs), len(threads) + 1)
        options = {"solver": solver, "budget": Budget(iterations=iterations), "threads": count}
        plain, whole = (which.simulate(**options) for which in (apart, scene))  # type: ignore[arg-type]
        plain.prepare(wait=True)
        begin = time.perf_counter()
        whole.prepare(wait=True)
        setup_s = time.perf_counter() - begin
        pairs.append((Timed(solver, count), plain, whole))
    tell(f"{scene.name}: preparing", len(pairs), len(pairs))
    leader = pairs[-1][2]
    settle()
    for frame in range(-WARM_UP, frames):
        state = leader.positions, leader.velocities
        for timed, plain, whole in pairs:
            alone, together = _from(plain, state), _from(whole, state)
            if frame >= 0:
                timed.ms.append(sum(alone.stages[stage] for stage in WITHOUT_COLLISIONS))
                timed.ms_with_collisions.append(together.ms)
                timed.contacts.append(together.contacts)
            timed.finite = timed.finite and alone.finite and together.finite
        tell(f"{scene.name}: simulating", max(frame + 1, 0), frames)
    coloured = leader.solver
    assert isinstance(coloured, PbdColoured)
    groups = types_of([item.group for item in coloured.listed])
    colourings = dict(zip(groups, coloured.colourings.values(), strict=True))
    bounds = {kind: smallest_last_bound(group.vertices, scene.model.n) for kind, group in groups.items()}
    runs = [timed for timed, *_ in pairs]
    return Measured(scene, iterations, frames, groups, colourings, bounds, runs, setup_s)


def _from(sim: Simulation, state: tuple[np.ndarray, np.ndarray]) -> Report:
    sim.positions, sim.velocities = state
    return sim.step()


def types_of(groups: Sequence[ConstraintGroup]) -> dict[str, ConstraintGroup]:
    """Groups by what they resist, in the paper's words; others, and second ones of a kind, by their own names."""
    found: dict[str, ConstraintGroup] = {}
    for group in groups:
        kind = group.kind
        bends = "bend" if kind.unit == BENDING_UNIT else kind.name
        name = "stretch" if kind.role is Role.SPRING else bends
        while name in found:
            name += "'"
        found[name] = group
    return found


def cold_start_s(name: str, scale: float, threads: int) -> float:
    """Seconds from the start of a new Python process to the end of a scene's first step."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.toml"
        write_text(path, f'scene = "{name}"\n[parameters]\nscale = {float(scale)!r}\n')
        return sweep.first_frame_s(str(path), threads, solver=COLOURED)


# --- one pass against a copy ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Pass:
    """One pass over all colours of a type, and copies of as many bytes: milliseconds, measured in turns.

    Attributes:
        copy: everything that the pass reads and writes, a row of positions for each corner of each constraint.
        copy_once: the same with every row once, as if all corners but the first of a vertex were found in a cache.
    """

    scene: str
    kind: str
    threads: int
    constraints: int
    colours: int
    bytes_read: int
    bytes_written: int
    ms: np.ndarray
    copy_ms: np.ndarray
    copy_once_ms: np.ndarray

    def row(self) -> dict[str, object]:
        """What tables and files show of the pass, by name."""
        plain = ("scene", "kind", "threads", "constraints", "colours", "bytes_read", "bytes_written")
        return {
            **{name: getattr(self, name) for name in plain},
            **spread("ms", self.ms),
            **spread("copy_ms", self.copy_ms),
            **spread("pass_over_copy", self.ms / self.copy_ms),
            "pass_over_copy_best": float(self.ms.min() / self.copy_ms.min()),
            **spread("pass_over_copy_once", self.ms / self.copy_once_ms),
        }


def time_passes(
    scene: Scene, threads: Sequence[int], *, repeats: int = 15, progress: Progress | None = None
) -> list[Pass]:
    """One pass over each type of constraint against a copy of its data, on each number of threads."""
    tell = progress or (lambda what, done, total: None)
    found: list[Pass] = []
    for number, count in enumerate(threads):
        tell(f"{scene.name}: passes", number, len(threads))
        sim = scene.simulate(solver=COLOURED, budget=Budget(iterations=ITERATIONS), threads=count)
        sim.step()
        solver = sim.solver
        assert isinstance(solver, PbdColoured)
        names = types_of([item.group for item in solver.listed])
        settle()
        for name, item in zip(names, solver.listed, strict=True):
            read, written = bytes_of(item)
            corners = item.group.vertices
            less = ROW * (corners.size - len(np.unique(corners)))
            plans = [
                Plan(item.phases(solver.q), count),
                copy_plan(read, written, count),
                copy_plan(read - less, written - less, count),
            ]
            ms = _in_turns(plans, repeats)
            sizes = (len(item.group), len(item.begins), read, written)
            found.append(Pass(scene.name, name, count, *sizes, *ms))
    tell(f"{scene.name}: passes", len(threads), len(threads))
    return found


def bytes_of(item: Listed) -> tuple[int, int]:
    """What a pass in place reads and writes, if nothing is kept between two constraints."""
    group, each = item.group, 4 if item.compliant else 0
    operator = 0 if group.kind.role is Role.SPRING else 4 * group.operator.size  # that of springs is known
    corners = group.vertices.size
    read = 4 * (corners + group.parameters.size) + operator + 2 * each * len(group) + ROW * corners
    return read, ROW * corners + each * len(group)


def copy_plan(read: int, written: int, threads: int) -> Plan:
    """Read and write so many bytes once, one after the other, by the same team."""
    source = np.ones((max(-(-read // ROW), 1), 4), np.float32)
    target = np.zeros((min(max(-(-written // ROW), 1), len(source)), 4), np.float32)
    sums = np.zeros((len(target) // GRAIN + 1, 4), np.float32)
    return Plan([copy_rows.over(0, len(target), source=source, target=target, sums=sums)], threads)


@phase_kernel(items="target")
@no_type_check  # compiled code: mypy cannot see its intrinsics
def copy_rows(begin, end, iteration, source: rows, target: rows, sums: rows):
    """Copy rows, and read the share of what the source has beyond the target: sums keep it from being left out."""
    count = target.shape[0]
    more = source.shape[0] - count
    for i in range(begin, end):
        store4(target, i, load4(source, i))
    zero = np.float32(0.0)
    a = b = c = d = make4(zero, zero, zero, zero)  # four sums: one would wait for itself
    first, last = count + begin * more // count, count + end * more // count
    whole = first + (last - first) // 4 * 4
    for i in range(first, whole, 4):
        a += load4(source, i)
        b += load4(source, i + 1)
        c += load4(source, i + 2)
        d += load4(source, i + 3)
    for i in range(whole, last):
        a += load4(source, i)
    store4(sums, begin // GRAIN, a + b + c + d)


def _in_turns(plans: Sequence[Plan], repeats: int) -> list[np.ndarray]:
    """Milliseconds of a single run of each plan, `repeats` times."""
    counts = []
    for plan in plans:
        plan.run()
        counts.append(max(1, int(PASS_MS / max(_timed_ms(plan, 1), 1e-6))))
    turns = [[_timed_ms(plan, count) for plan, count in zip(plans, counts, strict=True)] for _ in range(repeats)]
    return list(np.array(turns).T)


def _timed_ms(plan: Plan, count: int) -> float:
    begin = time.perf_counter()
    plan.run(count)
    return (time.perf_counter() - begin) * 1e3 / count


def _share(values: Sequence[float], share: float) -> float:
    return max(percentile(values, share) or 0.0, 1e-9)
