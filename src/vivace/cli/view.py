"""`vivace view`: the live app."""

from __future__ import annotations

import argparse
import signal
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import VivaceError
from ..interrupts import Interrupted, Terminated
from .arguments import add_target, natural, parameter, positive, positive_int
from .console import err, out

if TYPE_CHECKING:
    from ..viewer import Viewer
    from ..viewer.lobby import Lobby

FIRST = "tablecloth"  # what moves behind the gallery
DETAILS = """Show a scene in the browser while it runs: grab it, drag it, fling it; choose a fabric; change gravity,
wind, solver, budget and time step; compare two solvers side by side; record a take. Rigid bodies (vivace view
box-stack) are grabbed and thrown too. Without a TARGET the page begins with a gallery: scenes, fabrics, and a place to
drop a mesh.

A mesh of your own (vivace view shirt.obj) is brought to a size that reads and put on the floor or hung:
--set kind=jelly fills a closed surface, shell and cloth make a wall or a sheet of it.

The server listens on this machine only, and the address it prints carries a key: keep it to yourself. To look from
another machine, forward the port (ssh -L 8008:localhost:8008 HOST) and open the address there.

Some scenes start smaller or otherwise than in 'vivace run', so that they can be followed live (the tablecloth lies on
a table); --set changes that: vivace view tablecloth --set table=false --set resolution=60
"""


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """Add the options of `vivace view`."""
    add_target(sub, optional=True)
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
    sub.add_argument(
        "--threads", type=positive_int, metavar="T", help="default: one for each core, or one where that is faster"
    )
    sub.add_argument("--seed", type=natural, default=0, metavar="S", help="of everything random (default 0)")


def view(arguments: argparse.Namespace) -> None:
    """Show a scene in the browser until somebody stops it: `vivace view`.

    A page is there at once and says what is being loaded and compiled; the viewer takes its place when it is ready.
    """
    from ..viewer.keys import kept_key, key_of_environment
    from ..viewer.lobby import Lobby
    from ..viewer.security import gate_of, is_loopback, url_of

    gallery = arguments.target is None
    if gallery:
        arguments.target = FIRST
    key = kept_key(arguments.key_file) if arguments.key_file is not None else key_of_environment()
    gate = gate_of(arguments.host, key, arguments.also_known_as)
    interrupted = threading.Event()
    ended: KeyboardInterrupt | None = None

    def interrupt(*_: object) -> None:
        interrupted.set()  # the exception may be raised where Python swallows it, as in a finaliser
        raise KeyboardInterrupt

    default = signal.signal(signal.SIGINT, interrupt)
    try:
        with Lobby(gate, arguments.host, arguments.port) as lobby:
            url = url_of(arguments.host, lobby.port, gate)
            out.print(url, soft_wrap=True)
            if not is_loopback(arguments.host):
                who = "others on the network can reach this address; whoever has the key can take part"
                err.print(who, soft_wrap=True)
            shown = not arguments.no_browser and _open_browser(url)
            err.print("Ctrl-C ends it" if shown else "open it in a browser; Ctrl-C ends it", soft_wrap=True)
            try:
                viewer = _ready(arguments, lobby, gate.token, gallery)
            except VivaceError as error:
                lobby.say(str(error), failed=True)
                if shown:
                    lobby.wait_for_page()  # the person looks there by now
                raise
        if not interrupted.is_set():
            signal.signal(signal.SIGINT, viewer.end)
            with viewer:
                viewer.wait()
    except KeyboardInterrupt as error:
        ended = error
    finally:
        signal.signal(signal.SIGINT, default)
    raise Interrupted(told="the live app has stopped", terminated=isinstance(ended, Terminated)) from None


def _ready(arguments: argparse.Namespace, lobby: Lobby, key: str, gallery: bool) -> Viewer:
    """Load, compile and set up all that the first step needs; page and terminal are told."""
    with err.status("loading") as status:

        def say(text: str, done: int | None = None, total: int | None = None) -> None:
            lobby.say(text, done, total)
            status.update(text if done is None else f"{text} ({done}{'' if total is None else f' of about {total}'})")

        say("loading the solvers")
        from ..backends.cpu.compiling import ABOUT, compilation, is_first_time
        from ..scenes import SCENES, is_rigid, parameters_of
        from ..solvers import make_solver
        from ..solvers.rigid import make_contact_solver
        from ..viewer import Target, Viewer
        from ..viewer.starting import warm_up

        if arguments.solver is not None and arguments.target in SCENES:  # complain before the scene is made
            (make_contact_solver if is_rigid(arguments.target) else make_solver)(arguments.solver)
        parameters = dict(map(parameter, arguments.parameters))
        if arguments.target in SCENES and "seed" in parameters_of(arguments.target):
            parameters.setdefault("seed", arguments.seed)
        first, done = is_first_time(), 0

        def compiling(what: str) -> None:
            nonlocal done
            done += 1
            say(f"compiling for this machine, once: {what}", done, ABOUT if first and done <= ABOUT else None)

        with compilation(compiling):
            say(f"making the scene {arguments.target}")
            viewer = Viewer(
                Target(arguments.target, parameters),
                host=arguments.host,
                port=lobby.port,
                also_known=arguments.also_known_as,
                key=key,
                precision=arguments.precision,
                solver=arguments.solver,
                budget_ms=arguments.budget_ms,
                threads=arguments.threads,
                seed=arguments.seed,
                gallery=gallery,
            )
            say("making the first step")
            warm_up(viewer.session.sims[0])
        return viewer


def _open_browser(url: str) -> bool:
    """Show a page in the person's browser; whether there is one."""
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
