"""What holds for all tests."""

import os

from hypothesis import HealthCheck, settings

# How long an example takes, and drawing it, depends on what else the machine does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if _WORKER.startswith("gw") and hasattr(os, "sched_setaffinity"):
    # One core for each process that runs tests: with as many threads as cores in each of them, they would mostly wait
    # for each other. Tests that say threads=2 have two, on one core. Before NumPy counts cores for its own threads.
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_WORKER[2:]) % len(_cores)]})
