"""`tablewatch config check` says which remedies of a release do not fit its table, and where that is written."""

from typing import Any

import pytest

from monitor.config import ConfigError, load
from monitor.doctor.config_checks import NOT_CHECKED, invalid_releases
from tests.monitor.releases.desk import COLUMNS, Desk


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"remedies": [{"remedy": "suppress"}, {"remedy": "generalise", "supress": 0.1}]}, "supress: unknown key"),
        (
            {"remedies": [{"remedy": "suppress", "columns": ["bron"]}]},
            "column 'bron' is not exported by the release",
        ),
        ({"remedies": [{"remedy": "suppress", "drop": ["id"]}]}, "which is not exported"),
        ({"remedies": [{"remedy": "generalise", "levels": {"town": 1}}]}, "a column that is not in 'columns': town"),
        ({"remedies": [{"remedy": "generalise", "hierarchies": "nowhere/"}]}, "nowhere"),
        (
            {"remedies": [{"remedy": "randomise", "columns": ["sex"], "epsilon": 1}]},
            "is missing the values of sex",
        ),
        ({"remedies": [{"remedy": "answers", "statistic": "count", "epsilon": 1}]}, "noisy answers need a budget"),
        ({"columns": {**COLUMNS, "town": "other"}}, "table 'people' has no column 'town'"),
        ({"person_key": "idd"}, "no column 'idd'; did you mean 'id'?"),
        ({"analyses": {"a": "select 1 from elsewhere"}}, "reads from 'elsewhere'"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(desk: Desk, words: dict[str, Any], said: str) -> None:
    """Beside file and line; nothing is wrong with what fits."""
    assert not list(invalid_releases(load(desk.config)))
    desk.write(**words)
    (found,) = invalid_releases(load(desk.config))
    assert said in found.message
    assert found.file is not None
    assert desk.config.read_text(encoding="utf-8").splitlines()[(found.line or 0) - 1 :]


def test_a_table_that_cannot_be_read_is_not_checked(desk: Desk) -> None:
    """That is no fault of the configuration."""
    (desk.folder / "people.parquet").unlink()
    (found,) = invalid_releases(load(desk.config))
    assert found.code == NOT_CHECKED


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        ({"remedy": "randomise", "domain": "x"}, "'domain' of the remedy 'randomise' takes a mapping of columns"),
        ({"remedy": "randomise", "columns": [{"a": 1}]}, "'columns' of the remedy 'randomise' takes a list of column"),
        ({"remedy": "suppress", "columns": "town"}, "'columns' of the remedy 'suppress' takes a list of column names"),
        ({"remedy": "generalise", "hierarchies": [1]}, "'hierarchies' of the remedy 'generalise' takes a mapping"),
        ({"remedy": "generalise", "search": ["x"]}, "'search' of the remedy 'generalise' takes the name of a search"),
        ({"remedy": "microaggregate", "kinds": "x"}, "'kinds' of the remedy 'microaggregate' takes a mapping"),
    ],
)
def test_parameters_of_a_remedy_have_their_shapes(desk: Desk, remedy: dict[str, Any], said: str) -> None:
    """What a remedy reads before it checks it is refused with the configuration."""
    desk.write(remedies=[remedy])
    with pytest.raises(ConfigError, match=said):
        load(desk.config)
