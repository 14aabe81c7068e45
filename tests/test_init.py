"""The names of the package itself."""

import pytest

import vivace
from vivace import everything


def test_all_names_are_there_and_the_same_in_both_lists():
    assert [name for name in vivace.__all__ if name != "__version__"] == everything.__all__
    assert set(vivace.__all__) <= set(dir(vivace))
    for name in everything.__all__:
        assert getattr(vivace, name) is getattr(everything, name)


def test_python_can_suggest_the_nearest_name():
    """It looks for it in `obj` when nobody catches the error, if it is told the name."""
    with pytest.raises(AttributeError, match="has no attribute 'Simulaton'") as raised:
        _ = vivace.Simulaton
    assert raised.value.name == "Simulaton"
    assert raised.value.obj is vivace
