"""What holds for all tests."""

import os
import signal

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if _WORKER.startswith("gw") and hasattr(os, "sched_setaffinity"):
    # One core for each process that runs tests: with as many threads as cores in each of them, they would mostly wait
    # for each other. Tests that say threads=2 have two, on one core. Before NumPy counts cores for its own threads.
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_WORKER[2:]) % len(_cores)]})

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in the background ignores Ctrl-C for them, and for every process that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
