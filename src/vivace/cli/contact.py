"""`vivace bench contact`: tables of rigid contact, ours and the thesis'."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from .._version import __version__
from ..bench import contact
from ..bench.contact import DEFAULT_PARTS, PARTS, REPEATS, TRIED, Measured
from ..bench.contact_cases import CASES, DEFAULT_SIZES, ORDERS
from ..bench.contact_thesis import CORES
from ..bench.contact_trials import ITERATIONS
from ..bench.run import Progress
from ..checks import as_path
from ..errors import InputError
from ..interrupts import as_far_as_done, finish, keeping
from .arguments import list_of, positive, positive_int
from .console import out, progress, show_json, show_table

DETAILS = """contact: the benchmarks of [thesis2010], on parallel Jacobi and Gauss-Seidel for rigid contact, with its
figures beside ours: sizes and operation counts of balls in a grid and in a pile (tables), Jacobi on one and on several
threads (scaling), colours, seconds to the quality of 50 iterations of Gauss-Seidel (solvers), and, if asked for, how
many iterations that takes where contacts stand in another order (orders). "fixed": contacts with the ground depend on
each other, as in the thesis; else they do not. The pile is a random one of our own. Medians, and in brackets what 10
and 90 % of the turns stay below.

  vivace bench contact --sizes small,medium,large --out contact.png"""

OPTIONS: dict[str, object] = {
    "sizes": list(DEFAULT_SIZES), "only": list(DEFAULT_PARTS), "repeats": REPEATS, "order": ORDERS[0], "omega": 1.0,
    "out": None,
}  # fmt: skip
Rows = Sequence[Mapping[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vivace bench contact`."""
    group = parser.add_argument_group("with contact")
    sizes, parts, usual = ",".join(DEFAULT_SIZES), ",".join(PARTS), ",".join(DEFAULT_PARTS)
    group.add_argument("--sizes", type=list_of(str), metavar="A,B", help=f"also large (default {sizes})")
    group.add_argument("--only", type=list_of(str), metavar="A,B", help=f"among {parts} (default {usual})")
    group.add_argument("--repeats", type=positive_int, metavar="N", help=f"turns to time (default {REPEATS})")
    group.add_argument("--order", choices=ORDERS, help="of the contacts (default given: a grid's from the ground up)")
    group.add_argument("--omega", type=positive, metavar="X", help="times the r-factors of all solvers (default 1)")
    group.add_argument("--out", metavar="PNG", help="draw the seconds of the solvers (.png, .pdf or .svg)")


def bench(arguments: argparse.Namespace) -> None:
    """Measure, then print and draw."""
    parts = arguments.only
    contact.check_benchmark(arguments.sizes, parts, arguments.threads, arguments.repeats, arguments.omega)
    if arguments.out is not None:
        if "solvers" not in parts:
            raise InputError(f"--out draws the part solvers, which --only {','.join(parts)} leaves out")
        if as_path(arguments.out).suffix.lower() not in (".png", ".pdf", ".svg"):
            raise InputError(f"--out must end in .png, .pdf or .svg, not {arguments.out!r}")
    settings = {name: getattr(arguments, name) for name in ("sizes", "only", "threads", "repeats", "order", "omega")}
    settings = {"version": __version__, **settings}
    found: list[Measured] = []
    with progress(arguments.quiet or arguments.json) as tell:
        _, ended = as_far_as_done(lambda: _measure(arguments, found, tell))
    if arguments.out is not None:
        contact.plot(arguments.out, found, settings)
    rows = contact.as_json(found, parts)
    if arguments.json:
        show_json({"settings": settings, **rows})
        return finish(ended)
    for name, show in SHOWN.items():
        if name in rows:
            show(rows[name])
    if arguments.out is not None:
        out.print(f"drawn: {arguments.out}")
    return finish(ended)


def _measure(arguments: argparse.Namespace, found: list[Measured], tell: Progress) -> None:
    with keeping(found):
        for case in (case for size in arguments.sizes for case in CASES[size]):
            how = {"order": arguments.order, "omega": arguments.omega}
            parts, threads, repeats = arguments.only, arguments.threads, arguments.repeats
            found.append(contact.measure(case, parts, threads, repeats, progress=tell, **how))


def _show_sizes(rows: Rows) -> None:
    lines = []
    for row in rows:
        counts = [row[name] for name in ("bodies", "contacts", "blocks")]
        theirs = [row["thesis"][name] for name in ("bodies", "contacts", "blocks")] if row["thesis"] else [None] * 3
        mixed = [item for pair in zip(counts, theirs, strict=True) for item in pair]
        lines.append([row["case"], *mixed, row["equal"], row["blocks_that_couple"]])
    names = [name for what in ("bodies", "contacts", "blocks of T") for name in (what, "thesis")]
    show_table(
        "sizes, after Tables 3.2 and 3.4 of [thesis2010], where the ground couples contacts; last column: it does not",
        ["problem", *names, "equal", "blocks"],
        lines,
    )


def _show_operations(rows: Rows) -> None:
    names = ("multiplications", "additions", "setup_multiplications", "setup_additions")
    lines = []
    for row in rows:
        counts = [f"{row[name] / 1e6:.4g}" for name in names]
        theirs = f"{row['thesis']['multiplications'] / 1e6:.4g}" if row["thesis"] else None
        lines.append([row["case"], row["scheme"], counts[0], theirs, *counts[1:], row["auto"]])
    columns = ["problem", "scheme", "multiplications", "its blocks", "additions", "to prepare: x", "+", "taken by auto"]
    show_table(
        "millions of operations an iteration by the formulas of Table 3.1, and multiplications with the thesis' blocks",
        columns,
        lines,
    )


def _show_sequential(rows: Rows) -> None:
    lines = []
    for row in rows:
        theirs = row["thesis"] or {}
        pairs = [(row[name], theirs.get(name)) for name in ("iterations", "quality", "residual")]
        mixed = [item for pair in pairs for item in pair]
        lines.append([row["case"], row["name"], *mixed, _spread(row, "seconds"), theirs.get("seconds")])
    names = [name for what in ("iterations", "quality", "residual", "seconds") for name in (what, "thesis")]
    show_table("one thread, factorised scheme, after Tables 3.3 and 3.5", ["problem", "solver", *names], lines)


def _show_scaling(rows: Rows) -> None:
    lines = []
    for row in rows:
        theirs = row["thesis"] or {}
        csp, openmp = (_pair(theirs, name) for name in ("csp", "openmp"))
        cores = f" on {theirs['csp_cores']}" if theirs else ""
        spreads = [_spread(row, name) for name in ("ms_an_iteration", "times_own", "times_sequential")]
        lines.append([row["case"], row["name"], row["threads"], *spreads, f"{csp}{cores}", openmp])
    show_table(
        "Jacobi: x one thread, and x the factorised scheme on one thread, after Tables 6.1 to 6.3",
        [
            "problem",
            "solver",
            "threads",
            "ms an iteration",
            "x own",
            "x sequential",
            "thesis: CSP",
            f"OpenMP on {CORES}",
        ],
        lines,
    )


def _show_colours(rows: Rows) -> None:
    lines = [
        [row["case"], row["name"], _colours(row), _colours(row["thesis"]) if row["thesis"] else None] for row in rows
    ]
    show_table("colours, after section 7.3", ["problem", "solver", "colours", "thesis"], lines)


def _show_solvers(rows: Rows) -> None:
    lines = []
    for row in rows:
        theirs = row["thesis"]["iterations"] if row["thesis"] else None
        times = [row["setup_s_median"], *(_spread(row, name) for name in ("seconds", "times_sequential"))]
        colours = f"{row['colours']}{', last unsafe' if row['unsafe'] else ''}" if row["colours"] else None
        lines.append([row["case"], row["name"], row["threads"], row["iterations"], theirs, colours, *times])
    columns = [
        "problem",
        "solver",
        "threads",
        "iterations",
        "thesis",
        "colours",
        "setup s",
        "seconds",
        "x gauss-seidel",
    ]
    show_table(
        f"to the quality of {ITERATIONS} iterations of gauss-seidel, after figures 6.4 to 6.8 and 7.5 to 7.10",
        columns,
        lines,
    )


def _show_orders(rows: Rows) -> None:
    lines = []
    for row in rows:
        lines.append([row["case"], row["order"], row["omega"], row["quality"], *map(row["iterations"].get, TRIED)])
        theirs = row["thesis"]
        if theirs and row is [other for other in rows if other["case"] == row["case"]][-1]:
            needed = map(theirs["iterations"].get, TRIED)
            lines.append([row["case"], "thesis", None, theirs["quality"], *needed])
    show_table(
        "iterations to the quality of 50 of gauss-seidel, by the order of contacts and ω times the r-factors",
        ["problem", "order", "ω", "quality", *TRIED],
        lines,
    )


def _colours(row: Mapping[str, Any]) -> str:
    """As many as there are, and their sizes."""
    safe = row["colours"] - (row["unsafe"] > 0)
    text = f"{safe} of {row['largest']}" + (f" to {row['smallest']}" if row["smallest"] < row["largest"] else "")
    return text + (f", an unsafe one of {row['unsafe']}" if row["unsafe"] else "")


def _pair(theirs: Mapping[str, Any], name: str) -> str:
    return f"{theirs[f'{name}_own']}, {theirs[f'{name}_sequential']}" if theirs else "–"


def _spread(row: Mapping[str, Any], name: str) -> str:
    middle, low, high = (row[f"{name}_{which}"] for which in ("median", "p10", "p90"))
    return "–" if middle is None else f"{middle:.3g} ({low:.3g}–{high:.3g})"


SHOWN = {
    "sizes": _show_sizes,
    "operations": _show_operations,
    "sequential": _show_sequential,
    "scaling": _show_scaling,
    "colours": _show_colours,
    "solvers": _show_solvers,
    "orders": _show_orders,
}
