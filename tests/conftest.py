"""What holds for all tests."""

import gc
import os
import signal
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes, and drawing it, depends on what else the machine does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# Bytecode stands beside the machine code that is kept anyway: without it every process compiles the whole package anew,
# and pytest rewrites every assertion.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if _WORKER.startswith("gw") and hasattr(os, "sched_setaffinity"):
    # One core for each process that runs tests: with as many threads as cores in each of them, they would mostly wait
    # for each other. Tests that say threads=2 have two, on one core. Before NumPy counts cores for its own threads.
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_WORKER[2:]) % len(_cores)]})

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in the background ignores Ctrl-C for them, and for every process that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW, BROWSER = 20, 300  # times as long as the other tests, roughly


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What thousands of tests are made of stays, and is not looked through whenever something is to be thrown away."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Files that take longest come first, and quick ones at the end: no core waits long for another's last file."""
    costs = Counter()
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        costs[item.path] += BROWSER if "chromium" in item.fixturenames else SLOW if slow else 1
    items.sort(key=lambda item: -costs[item.path])
