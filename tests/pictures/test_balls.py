"""Balls as discs with a depth: how much of the picture they cover, and which hides which."""

import numpy as np
import pytest

from vivace import InputError
from vivace.pictures import Camera
from vivace.pictures.backends import Look
from vivace.pictures.balls import picture_of_balls

SIZE = (120, 90)
CAMERA = Camera((0.0, 0.0, 10.0), (0.0, 0.0, 0.0), fov_degrees=40.0)
RED, BLUE = (0.9, 0.1, 0.1), (0.1, 0.1, 0.9)


def covered(picture):
    return (picture != Look().background(SIZE)).any(axis=2)


def test_a_ball_covers_the_disc_of_its_radius():
    """π r² pixels, r = radius times focal length ÷ distance, around the place that the camera projects it to."""
    centre, radius = np.array([[1.0, 0.5, 0.0]]), 0.8
    seen = covered(picture_of_balls(centre, radius, [RED], CAMERA, size=SIZE, samples=1))
    pixels, depth = CAMERA.project(centre, SIZE)
    size = radius * 0.5 * SIZE[1] / np.tan(np.radians(20.0)) / depth[0]
    assert seen.sum() == pytest.approx(np.pi * size**2, rel=0.03)
    rows, columns = np.nonzero(seen)
    assert columns.mean() + 0.5 == pytest.approx(pixels[0, 0], abs=0.5)
    assert SIZE[1] - rows.mean() - 0.5 == pytest.approx(pixels[0, 1], abs=0.5)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_nearer_ball_hides_the_other(order):
    """Whichever comes first; where two reach into each other, by the depth of each pixel."""
    where, colours = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.4]])[list(order)], np.array([RED, BLUE])[list(order)]
    picture = picture_of_balls(where, [1.0, 1.0], colours, CAMERA, size=SIZE, samples=1).astype(int)
    red = picture[:, :, 0] > picture[:, :, 2] + 20
    blue = picture[:, :, 2] > picture[:, :, 0] + 20
    middle = SIZE[1] // 2
    assert blue[middle, SIZE[0] // 2 + 4]
    assert red[middle, np.nonzero(covered(picture)[middle])[0][0] + 1]


def test_what_is_behind_the_eye_or_not_finite_is_left_out():
    where = np.array([[0.0, 0.0, 20.0], [np.nan, 0.0, 0.0]])
    assert not covered(picture_of_balls(where, 1.0, [RED, BLUE], CAMERA, size=SIZE)).any()


def test_colours_must_be_as_many_as_balls():
    with pytest.raises(InputError, match="shape"):
        picture_of_balls(np.zeros((2, 3)), 1.0, [RED], CAMERA)
