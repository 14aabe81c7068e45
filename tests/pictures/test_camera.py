import numpy as np
import pytest

from vivace.errors import InputError
from vivace.pictures import Camera, bounds_of

BOXES = [
    ((-1, -1, -1), (1, 1, 1)),
    ((0, 0, 0), (10, 0.1, 1)),
    ((3, 100, -7), (3, 101, -7)),
    ((-50, 0, 0), (-49, 40, 1)),
]


@pytest.mark.parametrize("aspect", [0.5, 4 / 3, 3.0])
@pytest.mark.parametrize(("low", "high"), BOXES)
def test_every_corner_is_inside_the_frame_and_one_side_is_nearly_touched(low, high, aspect):
    camera = Camera.framing(low, high, aspect=aspect, margin=1.1)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T.astype(float)
    pixels, depth = camera.project(corners, (aspect, 1.0))
    from_centre = np.abs(pixels / [aspect, 1.0] - 0.5) * 2
    assert (depth > 0).all()
    assert from_centre.max() == pytest.approx(1 / 1.1, rel=1e-9)  # the margin, and no more


def test_axes_are_a_right_handed_orthonormal_frame():
    axes = Camera((3, 2, 1), (0, 0, 0)).axes()
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1)


def test_up_in_the_world_is_up_in_the_picture():
    pixels, _ = Camera((1, 1, 5), (0, 0, 0)).project(np.array([[0.0, 0, 0], [0, 1, 0], [1, 0, 0]]), (100, 100))
    np.testing.assert_allclose(pixels[0], [50, 50])
    assert pixels[1, 1] > 50
    assert pixels[2, 0] > 50


def test_a_point_alone_can_be_framed():
    assert Camera.framing((1, 2, 3), (1, 2, 3)).distance > 0


def test_bounds_ignore_lost_vertices_and_span_all_frames():
    low, high = bounds_of([np.array([[0, 0, 0], [np.nan, 9, 9]]), np.array([[1, 2, 3], [np.inf, 0, 0]])])
    np.testing.assert_array_equal(low, [0, 0, 0])
    np.testing.assert_array_equal(high, [1, 2, 3])
    with pytest.raises(InputError, match="no vertex has a finite position"):
        bounds_of([np.full((4, 3), np.nan)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((0, 0, 0), (0, 0, 0)), "cannot look at"),
        (((0, 5, 0), (0, 0, 0)), "cannot look at"),
        (((0, np.nan, 0), (0, 0, 0)), "eye must be three finite"),
        (((0, 0, 1), (0, 0, 0), (0, 1, 0), 179), "between 1 and 150"),
    ],
)
def test_cameras_that_cannot_see(arguments, words):
    with pytest.raises(InputError, match=words):
        Camera(*arguments)
