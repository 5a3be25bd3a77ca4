"""Values that have no groups."""

import pytest

from remedies import Misfit
from remedies.generalisation import flat, hierarchy_spec, masks, tree


def test_a_value_or_nothing() -> None:
    """Two levels, whatever the values are."""
    assert flat([2, "a", None, 2.0]).levels == (("2", "a"), ("*", "*"))
    assert flat([True], root="any").levels == (("true",), ("any",))
    with pytest.raises(Misfit, match="there is no value to generalise; expected at least one that is not NULL"):
        flat([None])
    with pytest.raises(Misfit, match="the root needs a name"):
        flat([1], root="")


def test_the_patients_of_lefevre_have_their_hierarchies() -> None:
    """Birth date, sex and postcode of LeFevre, DeWitt and Ramakrishnan (2005) take three lines."""
    born, sex, postcode = ["1/21/76", "4/13/86", "2/28/76"], ["Male", "Female"], [53715, 53703, 53706]
    assert hierarchy_spec({"type": "flat"}).build(born) == flat(born)
    assert flat(born).height == 1
    assert tree(sex, groups={"Person": sex}).levels == (("Male", "Female"), ("Person", "Person"))
    assert masks(postcode, hide=[1, 2], root=None).levels == (
        ("53703", "53706", "53715"),
        ("5370*", "5370*", "5371*"),
        ("537**", "537**", "537**"),
    )
