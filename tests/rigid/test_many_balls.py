"""Balls that come as arrays are the same bodies as one `Body` each, to the last bit."""

import numpy as np
import pytest

from vivace import Body, InputError, RigidSimulation
from vivace.collisions import Box, Plane, Sphere
from vivace.rigid.bodies import ARRAYS, Balls, Bodies

RNG = np.random.default_rng(0)
CENTRES = np.concatenate([RNG.uniform(-0.3, 0.3, (12, 1)), 0.2 + 0.25 * np.arange(12)[:, None], np.zeros((12, 1))], 1)
RADII, SPEEDS = RNG.uniform(0.05, 0.1, 12), RNG.uniform(-1, 1, (12, 3))
WALL, BOX = Body(Plane(), fixed=True, friction=0.2), Body(Box((0.6, 0.1, 0.0), (0.1, 0.1, 0.1)))


def both():
    """Seven balls, a box and five balls over a plane: as arrays, and one by one."""
    some = {"density": 300.0, "friction": 0.3, "restitution": 0.1}
    arrays = [
        Balls(CENTRES[part], RADII[part], velocities=SPEEDS[part], **some) for part in (slice(0, 7), slice(7, 12))
    ]
    parts = zip(CENTRES.tolist(), RADII.tolist(), SPEEDS.tolist(), strict=True)
    single = [Body(Sphere(tuple(c), r), velocity=v, **some) for c, r, v in parts]
    return [WALL, arrays[0], BOX, arrays[1]], [WALL, *single[:7], BOX, *single[7:]]


def test_arrays_are_those_of_single_bodies():
    many, single = (Bodies.of(bodies) for bodies in both())
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(many, name), getattr(single, name), err_msg=name)
    assert len(many.shapes) == len(single.shapes) == 14
    assert list(many.shapes) == list(single.shapes)
    assert many.shapes[-1] == single.shapes[-1]
    assert many.shapes[7:9] == list(single.shapes[7:9])


@pytest.mark.slow
def test_steps_have_the_same_bits():
    many, single = (RigidSimulation(bodies, threads=1) for bodies in both())
    for _ in range(20):
        many.step(), single.step()
    np.testing.assert_array_equal(many.positions, single.positions)
    np.testing.assert_array_equal(many.spins, single.spins)
    assert len(many.contacts) > 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"centres": [(0, 0)]}, "shape"),
        ({"centres": np.zeros((0, 3))}, "at least 1"),
        ({"centres": [(0, np.nan, 0)]}, "finite"),
        ({"radii": 0.0}, "positive"),
        ({"radii": [1.0, 2.0]}, "one or 1"),
        ({"radii": np.inf}, "positive"),
        ({"velocities": [(0, 0, 0), (1, 1, 1)]}, "velocities"),
        ({"density": 0.0}, "density"),
        ({"friction": -1.0}, "friction"),
        ({"restitution": 2.0}, "restitution"),
        ({"radii": 1e-20}, "weigh"),
    ],
)
def test_what_no_ball_is_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        Balls(**{"centres": [(0.0, 1.0, 0.0)], "radii": 0.1, **given})


def test_other_things_among_bodies_are_refused():
    with pytest.raises(InputError, match="body 1 must be a Body or Balls"):
        Bodies.of([WALL, Sphere((0, 1, 0), 0.1)])
