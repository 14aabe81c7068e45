"""`vivace view`: the live app."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from ..scenes import SCENES, is_rigid, parameters_of
from ..solvers import make_solver
from ..solvers.rigid import make_contact_solver
from .arguments import add_target, natural, parameter, positive, positive_int
from .console import err, out

DETAILS = """Show a scene in the browser while it runs: grab it, drag it, fling it; change solver, budget, stiffness,
time step, gravity and wind; compare two solvers side by side; record a take. Rigid bodies (vivace view box-stack) are
grabbed and thrown too.

The server listens on this machine only, and the address it prints carries a key: keep it to yourself. To look from
another machine, forward the port (ssh -L 8008:localhost:8008 HOST) and open the address there.

Some scenes start smaller or otherwise than in 'vivace run', so that they can be followed live (the tablecloth lies on
a table); --set changes that: vivace view tablecloth --set table=false --set resolution=60
"""


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """Add the options of `vivace view`."""
    add_target(sub)
    sub.add_argument("--solver", metavar="NAME", help="to start with (default: the scene's own)")
    sub.add_argument("--budget-ms", type=positive, metavar="B", help="milliseconds a step, 1 to 33 (default 8)")
    sub.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: this machine only)"
    )
    sub.add_argument("--port", type=natural, metavar="P", help="default: 8008, or the next that is free")
    sub.add_argument("--no-browser", action="store_true", help="print the address and do not open a browser")
    sub.add_argument(
        "--also-known-as",
        action="append",
        default=[],
        metavar="NAME",
        help="the name of a proxy that stands before this server, as in the browser's address; may be repeated",
    )
    sub.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="a file with the key, so that addresses stay valid; made if it is not there (default: the variable "
        "VIVACE_KEY, or a new key at every start)",
    )
    sub.add_argument(
        "--precision",
        type=int,
        choices=(16, 32),
        default=16,
        help="bits of a coordinate on the wire (default 16: half the bytes; 32 for meshes of a million vertices)",
    )
    sub.add_argument("--threads", type=positive_int, metavar="T", help="default: one for each core")
    sub.add_argument("--seed", type=natural, default=0, metavar="S", help="of everything random (default 0)")


def view(arguments: argparse.Namespace) -> None:
    """Show a scene in the browser until somebody stops it: `vivace view`."""
    from ..viewer import Target, Viewer
    from ..viewer.keys import kept_key, key_of_environment

    key = kept_key(arguments.key_file) if arguments.key_file is not None else key_of_environment()
    if arguments.solver is not None and arguments.target in SCENES:  # complain before the scene is made
        (make_contact_solver if is_rigid(arguments.target) else make_solver)(arguments.solver)
    parameters = dict(map(parameter, arguments.parameters))
    if arguments.target in SCENES and "seed" in parameters_of(arguments.target):
        parameters.setdefault("seed", arguments.seed)
    with err.status("getting ready (the first time, kernels are compiled)"):
        viewer = Viewer(
            Target(arguments.target, parameters),
            host=arguments.host,
            port=arguments.port,
            also_known=arguments.also_known_as,
            key=key,
            precision=arguments.precision,
            solver=arguments.solver,
            budget_ms=arguments.budget_ms,
            threads=arguments.threads,
            seed=arguments.seed,
        )
        viewer.start()
    # An exception could be raised where Python swallows it, as in a finaliser, and the interrupt would be lost.
    default = signal.signal(signal.SIGINT, viewer.end)
    try:
        out.print(viewer.url, soft_wrap=True)
        if viewer.is_open:
            err.print("others on the network can reach this address; whoever has the key can take part", soft_wrap=True)
        if arguments.no_browser or not viewer.open_browser():
            err.print("open it in a browser; Ctrl-C ends it", soft_wrap=True)
        else:
            err.print("Ctrl-C ends it", soft_wrap=True)
        viewer.wait()
        err.print("stopped")
    finally:
        viewer.stop()
        signal.signal(signal.SIGINT, default)
