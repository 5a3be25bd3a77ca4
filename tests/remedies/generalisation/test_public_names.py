"""The names of the packages whose modules are imported when a name is first used."""

import pytest

import checks.risk
import remedies.differential_privacy
import remedies.generalisation


@pytest.mark.parametrize("package", [checks.risk, remedies.differential_privacy, remedies.generalisation])
def test_every_public_name_is_there(package):
    """What the package says it offers, it offers; another name is an error."""
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert not hasattr(package, "no_such_name")
