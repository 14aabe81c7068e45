"""Slow motion that says why."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from vivace.viewer.frames import frame_message
from vivace.viewer.pace import Lately, Pace, reason
from vivace.viewer.packing import unpack

from .conftest import running

STEP = 1000 / 30


def lately(sweeps=8, **stages):
    return Lately(SimpleNamespace(report=SimpleNamespace(stages=stages, sweeps=sweeps)))


@pytest.mark.parametrize(
    ("steps", "budget", "said"),
    [
        ([lately(collide=2.0, solve=80.0)], 8.0, "the budget buys none of the 8 iterations this scene needs"),
        ([lately(collide=2.0, solve=40.0)], 8.0, "the budget buys 1 of the 8 iterations this scene needs"),
        ([lately(collide=2.0, solve=48.0)], 20.0, "the budget buys 3 of the 8 iterations this scene needs"),
        ([lately(collide=90.0, solve=4.0)], 8.0, "finding contacts alone takes 90 ms, and the budget is 8.0 ms"),
        ([lately(solve=50.0)], None, "a step takes 50 ms and simulates 33 ms"),
        (
            [lately(solve=20.0), lately(solve=40.0)],
            8.0,
            "the two simulations take 60 ms a step, which simulates 33 ms",
        ),
        ([lately(solve=5.0)], 8.0, "something else keeps this machine busy"),
    ],
)
def test_the_reason_is_in_words(steps, budget, said):
    assert reason(steps, budget, STEP) == said


@pytest.mark.slow
def test_frames_carry_it_and_one_slow_step_does_not_count():
    with running() as told:
        snapshot = told.frames(3)
    pace = Pace()
    for speed, slow in ((0.2, True), (1.0, False)):
        header, _ = unpack(frame_message(replace(snapshot, speed=speed), 16, pace))
        assert header["speed"] == speed
        assert bool(header["slow"]) == slow
    late = replace(snapshot, speed=0.2)
    stalled = replace(snapshot.views[0], report=SimpleNamespace(stages={"solve": 100.0}, sweeps=8))
    for _ in range(30):
        pace.why_slow(late)
    assert pace.why_slow(late) == "something else keeps this machine busy"
    assert pace.why_slow(replace(late, views=(stalled,))) == "something else keeps this machine busy"
    for _ in range(30):
        said = pace.why_slow(replace(late, views=(stalled,)))
    assert said.startswith("a step takes")
