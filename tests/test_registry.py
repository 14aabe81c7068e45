"""Names: one thing each, found exactly, and near misses met with a suggestion."""

import pytest

from vivace import InputError, UnknownNameError
from vivace.registry import Registry


@pytest.fixture
def animals():
    registry = Registry("animal")
    registry.register("zebra")("stripes")
    registry.register("aardvark")("tongue")
    return registry


def test_a_mapping_in_the_order_of_registration(animals):
    assert animals["zebra"] == "stripes"
    assert list(animals) == ["zebra", "aardvark"]
    assert dict(animals) == {"zebra": "stripes", "aardvark": "tongue"}
    assert len(animals) == 2
    assert "zebra" in animals
    assert "Zebra" not in animals
    assert animals.get("aardvark") == "tongue"


def test_the_decorator_returns_what_it_was_given(animals):
    @animals.register("bear")
    def growl():
        """Growl."""

    assert animals["bear"] is growl
    assert growl.__name__ == "growl"


def test_a_name_is_taken_once(animals):
    with pytest.raises(InputError, match="animal 'zebra' is registered already"):
        animals.register("zebra")("spots")
    assert animals["zebra"] == "stripes"


@pytest.mark.parametrize("name", ["", " ", " bear", "bear ", "\tbear", "bear\n"])
def test_names_without_spaces_around_them(animals, name):
    with pytest.raises(InputError, match="animal needs a name"):
        animals.register(name)
    assert len(animals) == 2


def test_a_near_miss_is_suggested(animals):
    with pytest.raises(UnknownNameError, match=r"unknown animal 'zebar'; did you mean 'zebra'\?"):
        animals["zebar"]


def test_anything_else_lists_what_is_known(animals):
    with pytest.raises(UnknownNameError, match=r"unknown animal 'xyz'; known: aardvark, zebra\."):
        animals["xyz"]
    with pytest.raises(UnknownNameError, match=r"known: none\."):
        Registry("animal")["zebra"]


@pytest.mark.parametrize("name", [None, 3, ("zebra",), ["zebra"], {}])
def test_what_is_no_name_is_unknown(animals, name):
    with pytest.raises(UnknownNameError, match="unknown animal"):
        animals[name]


@pytest.mark.parametrize("name", [None, 3, "bear", ("zebra",)])
def test_get_has_a_default(animals, name):
    assert name not in animals
    assert animals.get(name) is None
    assert animals.get(name, "none") == "none"


def test_an_unknown_name_is_an_error_of_input(animals):
    """Callers catch InputError (or ValueError); it is no KeyError, whose message Python would quote."""
    with pytest.raises(ValueError, match="unknown animal"):
        animals["bear"]
    assert not issubclass(UnknownNameError, KeyError)
