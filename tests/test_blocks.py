"""in_blocks(f, x) = f(x) for every f that treats the items on their own."""

import numpy as np
import pytest

from vivace.blocks import BLOCK, in_blocks


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 7])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: x[:, 0] > 0.5,  # another shape and type
        lambda x: x[:, :, None] * x[:, None, :],
        lambda x: np.linalg.norm(x, axis=1).astype(np.float32),
    ],
)
def test_as_the_plain_call(count, function):
    items = np.random.default_rng(count).random((count, 3))
    expected, found = function(items), in_blocks(function, items)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape


def test_every_item_is_seen_once_and_no_block_is_long():
    seen = []

    def watch(items):
        seen.append(items)
        return items

    in_blocks(watch, np.arange(3 * BLOCK + 5))
    assert [len(block) for block in seen] == [BLOCK] * 3 + [5]
    np.testing.assert_array_equal(np.concatenate(seen), np.arange(3 * BLOCK + 5))
