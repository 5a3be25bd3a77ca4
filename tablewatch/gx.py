"""Our checks as expectations of Great Expectations: importing this registers them."""

from checks.gx.custom import (
    ExpectTableToBeFresh,
    ExpectTableToBeKAnonymous,
    ExpectTableToBeLDiverse,
    ExpectTableToBeTClose,
)

__all__ = ["ExpectTableToBeFresh", "ExpectTableToBeKAnonymous", "ExpectTableToBeLDiverse", "ExpectTableToBeTClose"]
