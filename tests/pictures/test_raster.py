"""The rasteriser's kernels beside slow twins of them."""

import numpy as np
import pytest

from vivace.pictures import Camera, open_renderer
from vivace.pictures.kernels.raster import average, draw_triangles

WIDTH, HEIGHT = 19, 13


def twin(corners, nearness, colours):
    """For every sample, of the triangles that its middle is in, the nearest: barycentric weights solve one system."""
    picture, nearest = np.zeros((HEIGHT, WIDTH, 3)), np.zeros((HEIGHT, WIDTH))
    for row in range(HEIGHT):
        for column in range(WIDTH):
            point = np.array([column + 0.5, HEIGHT - 1 - row + 0.5, 1.0])
            for k in range(len(corners)):
                matrix = np.vstack([corners[k].T, np.ones(3)])
                if abs(np.linalg.det(matrix)) < 1e-9:
                    continue
                weights = np.linalg.solve(matrix, point)
                near = weights @ nearness[k]
                if (weights >= 0).all() and near > nearest[row, column]:
                    nearest[row, column], picture[row, column] = near, weights @ colours[k]
    return picture, nearest


def test_triangles():
    rng = np.random.default_rng(3)
    corners = (rng.random((12, 3, 2)) * [WIDTH + 8, HEIGHT + 8] - 4).astype(np.float32)
    corners[3, 2] = corners[3, 1]  # no area
    nearness = (0.1 + rng.random((12, 3))).astype(np.float32)
    colours = (255 * rng.random((12, 3, 3))).astype(np.float32)
    picture, nearest = np.zeros((HEIGHT, WIDTH, 3), np.uint8), np.zeros((HEIGHT, WIDTH), np.float32)
    draw_triangles(corners, nearness, colours, picture, nearest)
    wanted, depths = twin(corners.astype(float), nearness.astype(float), colours.astype(float))
    np.testing.assert_allclose(nearest, depths, rtol=1e-4)  # weights are quotients of float32 areas
    np.testing.assert_allclose(picture, wanted, atol=0.51)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_average(samples):
    rng = np.random.default_rng(samples)
    height, width = 5, 7
    picture = rng.integers(0, 256, (height * samples, width * samples, 3)).astype(np.uint8)
    nearest = (rng.random(picture.shape[:2]) > 0.5).astype(np.float32)
    backdrop = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    out = np.empty_like(backdrop)
    average(picture, nearest, backdrop, samples, out)
    behind = backdrop.repeat(samples, axis=0).repeat(samples, axis=1)
    seen = np.where(nearest[:, :, None] > 0, picture, behind).astype(float)
    mean = seen.reshape(height, samples, width, samples, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(out, mean, atol=0.51)


def test_what_is_nearer_hides_what_is_farther():
    """Two triangles that pierce each other: each is seen where it is nearer, which a painter cannot do."""
    camera = Camera((0, 0, 5), (0, 0, 0))
    positions = np.array([[-1, -1, 0.5], [1, -1, -0.5], [0, 1.5, 0], [-1, -1, -0.5], [1, -1, 0.5], [0, 1.5, 0]], float)
    colours = np.array([[1, 0, 0]] * 3 + [[0, 0, 1]] * 3, float)
    with open_renderer([[0, 1, 2], [3, 4, 5]], camera, size=(200, 150), ground=None, backend="raster") as renderer:
        picture = renderer.draw(positions, colours).astype(int)
    row = picture[95]
    red, blue = np.flatnonzero(row[:, 0] - row[:, 2] > 60), np.flatnonzero(row[:, 2] - row[:, 0] > 60)
    assert 0 < red.max() <= blue.min() + 1
    assert abs(red.max() - 100) <= 2
