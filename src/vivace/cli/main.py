"""Entry point: parse, dispatch, and turn errors into one clear line."""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event, current_thread, main_thread

from .._version import __version__
from ..errors import VivaceError
from ..forking import begun_early
from ..interrupts import Terminated, raise_for
from . import view
from .arguments import (
    add_common,
    add_target,
    natural,
    positive,
    positive_int,
    share,
    substeps,
)
from .console import err

WORKER = "vivace.sweeps.worker"
ELSEWHERE = ("--sched", "--sl", "-h", "--h")  # of `sweep`: no process here makes runs

EXAMPLES = """examples:
  vivace list                                              what there is
  vivace view tablecloth                                   grab it in the browser
  vivace run tablecloth --budget-ms 8 --out cloth.mp4      simulate, measure, film
  vivace run house-of-cards --film cards.mp4               rigid bodies
  vivace run bunny.obj --iterations 20 --frames 60 --json  your own mesh, figures for a script
  vivace colour tablecloth --algorithm all --out colours.png
  vivace compare tablecloth --solvers vivace,jacobi --budgets-ms 4,8 --frames 60 --out study
  vivace compare tablecloth armadillo --solvers vivace,jacobi --frame 10 --out study
  vivace sweep tablecloth --vary stretch=1e2:1e5:log:20 --iterations 40 --out results
  vivace bench sweep --threads 1,2
  vivace bench pbd --scale 0.1 --passes
  vivace bench contact --sizes small --out contact.png
"""


def parser(only: str = "") -> argparse.ArgumentParser:
    """The parser of the command line, with all commands; or with `view` only, for which nothing big is loaded yet."""
    top = argparse.ArgumentParser(
        prog="vivace",
        description="Soft bodies under a millisecond budget.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"vivace {__version__}")
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(
        name: str, summary: str, details: str, call: Callable[[argparse.Namespace], None]
    ) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(
            name, help=summary, description=details, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        sub.set_defaults(call=call)
        return sub

    def add_view() -> None:
        view.add_arguments(command("view", "grab a scene in the browser", view.DETAILS, view.view))

    if only == "view":
        add_view()
        return top

    from ..simulation.motion import INTEGRATORS
    from . import bench, blender, commands, compare, replay, schema, sweep, tune

    sub = command(
        "list",
        "show scenes, solvers, colourings, fabrics and constraints",
        "Show what there is by name, with parameters and their defaults.",
        commands.list_things,
    )
    sub.add_argument("what", nargs="?", choices=sorted(commands.LISTS), help="one kind only")
    sub.add_argument("--json", action="store_true", help="print JSON and nothing else")

    sub = command(
        "run",
        "simulate a scene and measure it",
        "Simulate a scene under a budget and report sweeps, milliseconds and error.\n\n"
        "The budget is the time of a whole step (--budget-ms), a number of sweeps (--iterations: the same result on\n"
        "every machine and for any number of threads) or a residual relative to the first sweep's (--tolerance).\n"
        "The relative error compares a few frames' energy with a converged float64 solution: 1 is the prediction\n"
        "without any solving, 0 the exact answer.\n\n"
        "Scenes of rigid bodies have contact solvers ('vivace list contact-solvers') and report contacts and overlaps.",
        commands.run_scene,
    )
    add_target(sub)
    sub.add_argument("--solver", metavar="NAME", help="e.g. vivace, or vivace:omega=1.5,relaxation=sor")
    limits = sub.add_argument_group("budget (one or more; default: the scene's own)")
    limits.add_argument("--budget-ms", type=positive, metavar="B", help="milliseconds a step")
    limits.add_argument(
        "--iterations", type=positive_int, metavar="K", help="sweeps a step; of rigid bodies, iterations a substep"
    )
    limits.add_argument(
        "--tolerance",
        type=share,
        metavar="T",
        help="relative residual, between 0 and 1; of rigid bodies, the largest change of an impulse (N s)",
    )
    sub.add_argument("--frames", type=positive_int, metavar="N", help="steps to simulate (default: the scene's own)")
    sub.add_argument("--time-step", type=positive, metavar="H", help="seconds of a step (default: the scene's own)")
    sub.add_argument(
        "--substeps",
        type=substeps,
        metavar="M",
        help="equal parts of a step, or auto: as many as the solver finds best (default: the scene's own)",
    )
    sub.add_argument(
        "--integrator",
        choices=INTEGRATORS,
        help="euler; bdf2, of second order in time; or quasi-static, without inertia (default: the scene's own)",
    )
    sub.add_argument(
        "--error-samples",
        type=natural,
        metavar="E",
        help="frames whose error is measured, afterwards (default 5; 0 for none, and above 60K vertices)",
    )
    sub.add_argument(
        "--out",
        metavar="FILE",
        help="write an animation (.mp4, .gif; a picture of the last frame goes beside it), a picture (.png), the "
        "positions of all frames, with the poses of rigid bodies (.npz), or a cache that other programs play (.usdc, "
        ".usda, .glb, .abc, .pc2, .mdd, .xdmf, FOLDER/####.obj or .ply; docs/caches.md)",
    )
    sub.add_argument(
        "--unit",
        help="of the numbers in a cache: m, cm, mm, in, ... (default: of the mesh file, --set unit=cm, else m)",
    )
    sub.add_argument("--up", help="the axis that points up in a cache: y or z (default: in the mesh file, else y)")
    sub.add_argument("--film", metavar="FILE", help="write an animation (.mp4, .gif), beside what --out asks for")
    sub.add_argument("--picture", metavar="FILE", help="write a picture of the last frame (.png), beside the others")
    sub.add_argument(
        "--trace",
        metavar="FILE",
        help="write a table of one row a frame (.csv or .parquet): stages, sweeps, errors, stretch, contacts, ...",
    )
    surviving = sub.add_argument_group("runs that survive (docs/runs.md)")
    surviving.add_argument(
        "--checkpoint-every", type=positive_int, metavar="N", help="write a checkpoint every N frames, and at the end"
    )
    surviving.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="where (.vivace; default: beside --out, or SCENE.vivace); vivace.load reads it, too",
    )
    surviving.add_argument(
        "--resume",
        action="store_true",
        help="go on from the checkpoint, if there is one; files are those of the whole run",
    )
    add_common(sub)

    add_view()

    sub = command(
        "colour",
        "colour a scene's constraint graph",
        "Partition the unknowns so that none in a partition depend on each other, by one algorithm or all.",
        commands.colour,
    )
    add_target(sub)
    sub.add_argument(
        "--algorithm", default="brooks-vizing", metavar="NAME", help="see 'vivace list colourings'; or all"
    )
    sub.add_argument("--repeat", type=positive_int, default=30, metavar="R", help="timed repetitions (default 30)")
    sub.add_argument("--out", metavar="PNG", help="draw the adjacency matrix before and after reordering")
    add_common(sub)

    sub = command("compare", "compare solvers: error against sweeps and time", compare.DETAILS, compare.compare_solvers)
    compare.add_arguments(sub)

    sub = command("replay", "make a recording of the live app again from its input", replay.DETAILS, replay.replay)
    replay.add_arguments(sub)

    sub = command("sweep", "make many runs with different values, as one table", sweep.DETAILS, sweep.sweep)
    sweep.add_arguments(sub)

    sub = command("schema", "the JSON Schema of what a command prints with --json", schema.DETAILS, schema.show)
    schema.add_arguments(sub)

    sub = command("tune", "find a Chebyshev solver's rho for a scene", tune.DETAILS, tune.tune)
    tune.add_arguments(sub)

    sub = command("blender-extension", "build the extension for Blender", blender.DETAILS, blender.build)
    blender.add_arguments(sub)

    sub = command("bench", "time the kernels", bench.DETAILS, bench.bench)
    bench.add_arguments(sub)
    return top


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """An interrupt that a library swallows while it is imported is raised again at the end."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return
    asked = Event()

    def interrupt(*_: object) -> None:
        asked.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked.is_set():
        raise KeyboardInterrupt


@contextmanager
def _termination_heard() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, with another exit code."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, raise_for)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _hush_the_compiler() -> None:
    """Let nobody read of an object of LLVM that was half made when it was interrupted, and cannot be taken apart."""
    before = sys.unraisablehook

    def hook(met: sys.UnraisableHookArgs) -> None:
        if not getattr(met.object, "__module__", "").startswith("llvmlite."):
            before(met)

    sys.unraisablehook = hook


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code: 0, 1 for an error of use or input, 130 by Ctrl-C, 143 by SIGTERM."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? rather than nothing
    argv = sys.argv[1:] if argv is None else argv
    signals = ExitStack()
    try:
        signals.enter_context(_termination_heard())
        if argv[:1] == ["sweep"] and not any(word.startswith(ELSEWHERE) for word in argv):
            signals.enter_context(begun_early(WORKER))  # which loads the same on another core
        with _interrupts_kept():
            commands = parser("view" if argv[:1] == ["view"] else "")  # which loads all that they need
        arguments = commands.parse_args(argv)
        return arguments.call(arguments) or 0
    except (VivaceError, argparse.ArgumentTypeError) as error:
        err.print(f"vivace: {error}", markup=False, soft_wrap=True)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:  # standard output cannot take the results
        err.print(f"vivace: cannot write the results: {error.strerror or error}", soft_wrap=True)
        sys.stdout = None  # nothing left to flush
        return 1
    except KeyboardInterrupt as error:
        _hush_the_compiler()
        told = getattr(error, "told", "") or "files are whole or not there"
        err.show_cursor()
        err.print(f"vivace: interrupted; {told}", markup=False, soft_wrap=True)
        return 143 if isinstance(error, Terminated) else getattr(error, "code", 130)
    finally:
        signals.close()
