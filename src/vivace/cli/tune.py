"""`vivace tune`: find the ρ of a Chebyshev solver or of `descent` for a scene, and keep it with the scene."""

from __future__ import annotations

import argparse

from ..checks import as_path
from ..errors import InputError
from ..files import check_writable
from ..scenes.files import write_tuned
from ..solvers import make_solver
from ..solvers.descent.descent import Descent
from ..solvers.descent.tuning import check_phases, tuned_phases
from ..solvers.projective.chebyshev import Chebyshev
from ..solvers.projective.tuning import tuned_rho
from .arguments import add_common, add_target, parameter, positive_int, scene_of
from .console import out, progress, show_json

DETAILS = """Find the ρ with which a Chebyshev solver gets farthest in a number of iterations a step.

The scene falls from rest for a few steps; on the last of them ρ is raised until it oscillates, and lowered again. The
more iterations a step has, the larger ρ may be, so say how many yours has (vivace run tells). With --out the result
goes into a scene file, which vivace run, compare and the rest then use instead of tuning again.

  vivace tune tablecloth --solver "chebyshev(jacobi)" --iterations 60 --out tuned.toml
  vivace run tuned.toml --solver "chebyshev(jacobi)" --budget-ms 8

Of descent the iterations may be divided into phases, each with a ρ of its own [fratarcangeli2018, section 3.2.3]:

  vivace tune double-helix --solver descent --phases 2 --iterations 96 --out tuned.toml"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vivace tune`."""
    add_target(parser)
    parser.add_argument("--solver", default="chebyshev(jacobi)", metavar="NAME", help="default: chebyshev(jacobi)")
    parser.add_argument(
        "--iterations", type=positive_int, default=60, metavar="K", help="iterations a step (default 60)"
    )
    parser.add_argument("--phases", type=positive_int, metavar="P", help="of descent (default 1)")
    parser.add_argument("--out", metavar="TOML", help="scene file to write; may be TARGET itself if that is one")
    add_common(parser)


def tune(arguments: argparse.Namespace) -> None:
    """Find the best ρ of a solver on a scene, print it and write it to a scene file: `vivace tune`."""
    solver = make_solver(arguments.solver)
    if isinstance(solver, Chebyshev):
        if arguments.phases is not None:
            raise InputError(f"--phases belongs to descent and does nothing with {arguments.solver!r}")
        solver.rho = 0.0
    elif isinstance(solver, Descent):
        check_phases(solver, arguments.phases or 1, arguments.iterations)
    else:
        raise InputError(
            f"only Chebyshev solvers and descent have a ρ to tune, e.g. chebyshev(jacobi); not {arguments.solver!r}"
        )
    target = as_path(arguments.out, "--out") if arguments.out else None
    if target is not None and target.suffix.lower() != ".toml":
        raise InputError(f"--out must end in .toml, not {arguments.out!r}")
    scene = scene_of(arguments)
    if target is not None:
        check_writable(target)
    with progress(arguments.quiet or arguments.json) as tell:
        tell("tuning", 0, 1)
        sim = scene.simulate(solver=solver, threads=arguments.threads, seed=arguments.seed)
        sim.prepare(wait=True)
        rho: float | str
        if isinstance(solver, Descent):
            rho = tuned_phases(solver, sim.system, phases=arguments.phases or 1, iterations=arguments.iterations)
        else:
            rho = tuned_rho(solver, sim.system, iterations=arguments.iterations)
        tell("tuning", 1, 1)
    if arguments.out:
        parameters = dict(parameter(text) for text in arguments.parameters)
        write_tuned(arguments.out, arguments.target, parameters, {solver.name: rho})
    if arguments.json:
        show_json({"solver": solver.name, "rho": rho, "iterations": arguments.iterations, "written": arguments.out})
        return
    told = rho if isinstance(rho, str) else f"{rho:.8g}"
    out.print(f"{scene.name}, {solver.name}, {arguments.iterations} iterations a step: ρ = {told}", markup=False)
    if arguments.out:
        out.print(f"wrote {arguments.out}", markup=False, soft_wrap=True)
