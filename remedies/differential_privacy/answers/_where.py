"""Which rows are meant: declared columns compared with what the request says. No SQL comes from a person here."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from remedies._errors import Misfit
from remedies.differential_privacy.answers._declared import Declared
from remedies.differential_privacy.answers.domain import BoundedColumn, CategoryColumn, Cells, Value
from remedies.differential_privacy.answers.reading import Reader

if TYPE_CHECKING:
    import ibis.expr.types as ir

_FORM: Final = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)
_SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NOT_MEANT: Final = False
_TRUTHS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class WhereComparison:
    """`age >= 18`, `sex = F`: of a declared column.

    Of categories, rows are compared by their cell: what is taken for `other` is, here too; without one, a value that is
    not declared is unequal to all that are, and NULL is never meant. Numbers are compared as they are, and a row
    without a number is never meant.
    """

    column: str
    sign: str
    value: str

    @classmethod
    def parse(cls, value: object) -> WhereComparison:
        """Read a comparison.

        Raises:
            ValueError: it has another form.
        """
        if isinstance(value, WhereComparison):
            return value
        match = _FORM.fullmatch(value) if isinstance(value, str) else None
        if match is None or not match["value"]:
            raise ValueError("a comparison such as 'age >= 18' or 'sex = F'; known: = != < <= > >=")
        return cls(match["column"], match["sign"], match["value"])

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.value}"

    def check(self, declared: Declared) -> None:
        """Check that the column and the value are declared.

        Raises:
            Misfit: they are not.
        """
        self._meant(declared.column(self.column))

    def rows(self, reader: Reader, declared: Declared) -> ir.BooleanValue:
        """Return the rows that are meant, as an expression."""
        result = declared.column(self.column)
        value = self._meant(result)
        sign = _SIGNS[self.sign]
        if isinstance(result, CategoryColumn) and self.sign in {"=", "!="}:
            condition: ir.BooleanValue = sign(reader.cell(self.column, result), result.values.index(value))
            return condition if result.other is not None else condition & reader.is_there(self.column)
        condition = sign(reader.number(self.column), value)
        return condition.fill_null(_NOT_MEANT)

    def _meant(self, column: Cells | BoundedColumn) -> Value:
        if not isinstance(column, CategoryColumn):
            return self._number()
        if self.sign not in {"=", "!="} and column.kind != "number":
            raise Misfit(f"'{self}': '{self.column}' has categories, which are equal (=) or not (!=)")
        value: Value = self.value
        if column.kind == "number":
            value = self._number()
        if column.kind == "truth value":
            value = _TRUTHS.get(self.value.lower(), self.value)
        if self.sign in {"=", "!="} and value not in column.values:
            raise Misfit(f"'{self}': that is no declared value of '{self.column}'")
        return value

    def _number(self) -> float:
        try:
            number = Decimal(self.value)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or abs(number) > Decimal(2**53):
            raise Misfit(f"'{self}': '{self.column}' is compared with a number, such as 18")
        return float(number)

    @classmethod
    def __get_pydantic_core_schema__(cls, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        as_text = core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema())
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=as_text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "examples": ["age >= 18", "sex = F"]}
