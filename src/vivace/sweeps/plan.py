"""The runs of a sweep: which there are, and what each of them needs to be made anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import check_count, check_name, check_seed, check_time_step, is_whole, shown
from ..errors import InputError
from ..simulation.motion import INTEGRATORS
from ..solvers import Budget, make_solver
from ..solvers.rigid import make_contact_solver
from .describing import (
    OF_SOLVER,
    Description,
    Place,
    check_words,
    is_whole_number,
    place_of,
)
from .functions import check_portable
from .sampling import SAMPLINGS
from .task import Task
from .values import MOST, canonical, read_values

SEEDED = ("parameters", "seed")
BUDGETS = ("budget_ms", "iterations", "tolerance")


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, in order.

    Attributes:
        description: of the scene.
        tasks: one a run.
        names: that are varied.
        asked: what was asked for, for the record.
        columns: how many pictures stand beside each other: runs that differ by the last name.
    """

    description: Description
    tasks: list[Task]
    names: list[str]
    asked: dict[str, Any] = field(default_factory=dict)
    columns: int = 1


def plan_of(
    description: Description,
    vary: Mapping[str, Any],
    *,
    settings: Mapping[str, Any],
    sampling: str = "grid",
    runs: int | None = None,
    seeds: int | Sequence[int] = 1,
    seed: int = 0,
    words: Mapping[str, Sequence[str]] | None = None,
    **common: Any,
) -> Plan:
    """All runs, with every name and as many values as possible checked before the first of them begins.

    Args:
        description: of the scene.
        vary: values by name.
        settings: of all runs: solver, budget_ms, ...
        sampling: by name.
        runs: of a random sample.
        seeds: how many for each combination, or which.
        seed: the first of them, and that of the sample.
        words: the parts of a list by name, where commas do not say it.
        common: what all tasks have besides.
    """
    draw = SAMPLINGS[check_name("sampling", sampling, SAMPLINGS)]
    places = {name: place_of(description, name) for name in vary}
    if len(set(places.values())) < len(places):
        raise InputError(f"something is varied twice: {', '.join(places)}")
    values = {
        name: read_values(
            name, given, whole=is_whole_number(description, places[name]), words=(words or {}).get(name)
        )
        for name, given in vary.items()
    }  # fmt: skip
    for name, value in [*description.data.get("parameters", {}).items(), *settings.items()]:
        check_portable(name, value)
    chosen = _seeds(seeds, check_seed(seed))
    rows = draw(list(values.values()), runs, np.random.default_rng(seed))
    if len(rows) * len(chosen) > MOST:
        raise InputError(f"{len(rows) * len(chosen):,} runs are too many; at most {MOST:,}")
    _check_all(description, places, rows, settings)
    tasks: list[Task] = []
    for row in rows:
        for number in chosen:
            varied = dict(zip(places, row, strict=True))
            tasks.append(_task(description, len(tasks), varied, places, number, settings, common))
    by_key = {task.key: task for task in tasks}
    tasks = list(by_key.values()) if len(by_key) < len(tasks) else tasks  # a sample of few values repeats itself
    across = len({canonical(row[-1]) for row in rows}) if rows and places else 1
    asked = {
        "target": description.label, "vary": {name: str(given) for name, given in vary.items()},
        "sampling": sampling, "runs": len(tasks), "seeds": chosen, "settings": dict(settings),
    }  # fmt: skip
    return Plan(description, tasks, list(places), asked, across * len(chosen) if sampling == "grid" else 0)


def _seeds(seeds: int | Sequence[int], first: int) -> list[int]:
    if is_whole(seeds):
        return list(range(first, first + check_count("seeds", seeds, 1)))
    if isinstance(seeds, str) or not isinstance(seeds, Sequence | np.ndarray) or not len(seeds):
        raise InputError(f"seeds are how many each combination gets, or a list of them, not {shown(seeds)}")
    found = [check_seed(seed) for seed in seeds]
    if len(set(found)) < len(found):
        raise InputError(f"a seed is there twice: {shown(list(seeds))}")
    return found


def _check_all(
    description: Description, places: Mapping[str, Place], rows: Sequence[Sequence[Any]], settings: Mapping[str, Any]
) -> None:
    """Settings are what runs take, whichever of them are varied."""
    columns = dict(zip(places, zip(*rows, strict=True), strict=True)) if rows else {}
    for name, place in places.items():
        different = list({canonical(value): value for value in columns[name]}.values())
        if place[0] == "setting":
            for value in different:
                check_setting(description, name, value)
        check_words(place, different)
    for name, value in settings.items():
        if value is not None and name not in places:
            check_setting(description, name, value)
    if "solver" in places and any(place[0] == OF_SOLVER for place in places.values()):
        raise InputError("vary either the solver, with options as in vivace:omega=1.5, or an option of one solver")


def check_setting(description: Description, name: str, value: Any) -> None:
    """Refuse a value that no run can have."""
    if name == "solver":
        (make_contact_solver if description.rigid else make_solver)(value)
    elif name == "integrator":
        check_name("integrator", value, INTEGRATORS)
    elif name == "time_step":
        check_time_step(value)
    elif name == "frames":
        check_count("frames", value, 1)
    elif name == "substeps" and value != "auto":
        check_count("substeps", value, 1)
    elif name in BUDGETS:
        Budget(**{"ms" if name == "budget_ms" else name: value})


def _task(
    description: Description,
    number: int,
    varied: dict[str, Any],
    places: Mapping[str, Place],
    seed: int,
    settings: Mapping[str, Any],
    common: Mapping[str, Any],
) -> Task:
    entries = {place: varied[name] for name, place in places.items() if place[0] != "setting"}
    given = {name: value for name, value in settings.items() if value is not None}
    given |= {place[1]: varied[name] for name, place in places.items() if place[0] == "setting"}
    if any(place[0] == OF_SOLVER for place in entries):
        given.pop("solver", None)  # it is in the description, with its options
    seeded = SEEDED in description.defaults and "seed" not in description.data.get("parameters", {})
    data = description.with_values(entries | ({SEEDED: seed} if seeded else {}))
    same = [data, given, seed, description.files, common.get("measured"), common.get("error_samples")]
    key = hashlib.sha256(canonical([*same, description.label]).encode()).hexdigest()[:24]
    return Task(number, key, varied, seed, str(description.path), data, given, **common)
