"""Make a command of a verb: arguments and options follow from the fields of its target and its body."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, get_args, get_origin

import typer
from annotated_types import Ge
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from monitor.commands._options import By, os_account, read_number, who
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.verbs.verb import Acting, Typed, Verb

if TYPE_CHECKING:
    from monitor.config.project import Project
    from store import Store

Present: TypeAlias = Callable[[Invocation, "Project", "Store", Any], None]
"""Shows what a verb returned; the store is still open."""
_FOR_PROGRAMS: Final = ("if_version", "present")
"""The fields of what a program read before it decided, and of what a browser's user has to know."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A field as a command takes it. `marks`: its metadata, also that inside `Annotated[...] | None`."""

    name: str
    field: FieldInfo
    is_target: bool

    @property
    def marks(self) -> Sequence[Any]:
        return [*self.field.metadata, *_marks(self.field.annotation)]

    @property
    def typed(self) -> Typed:
        return next((mark for mark in self.marks if isinstance(mark, Typed)), Typed())

    @property
    def is_argument(self) -> bool:
        return self.is_target or self.typed.argument

    @property
    def text(self) -> str:
        """Return what it is called on the command line."""
        if self.is_argument:
            return self.typed.metavar or self.name.upper()
        return self.typed.option or f"--{(self.field.alias or self.name).replace('_', '-')}"

    @property
    def key(self) -> str:
        """Return the name of the parameter, from which that of an environment variable follows."""
        return self.name if self.is_argument else _identifier(self.text)

    @property
    def removal(self) -> str | None:
        """Return the name of the parameter that removes it; None if there is none."""
        return self.typed.removal and _identifier(self.typed.removal)

    def declared(self) -> Iterator[inspect.Parameter]:
        """Yield the parameters that a function has for it."""
        kind, typed, field = _kind(self.field.annotation), self.typed, self.field
        words: dict[str, Any] = {"help": field.description, "metavar": typed.metavar}
        if self.is_argument and kind is int:
            words["parser"] = read_number
        elif kind is int:
            words["min"] = next((mark.ge for mark in self.marks if isinstance(mark, Ge)), None)
        if typed.asked:
            if not field.is_required():
                switch = typer.Option(f"--{self.name}/--no-{self.name}", help=field.description)
                yield _keyword(self.key, Annotated[bool, switch], default=True)
            return
        mark = typer.Argument(**words) if self.is_argument else typer.Option(self.text, **words)
        default = inspect.Parameter.empty if field.is_required() else field.get_default()
        default = list(default) if isinstance(default, tuple) else default
        yield _keyword(self.key, Annotated[kind if default is not None else kind | None, mark], default)
        if self.removal is not None:
            yield _keyword(self.removal, Annotated[bool, typer.Option(typed.removal, help="Remove it.")], default=False)


def add_verbs(
    app: typer.Typer,
    group: str,
    verbs: Sequence[Verb[Any]],
    present: Present,
    *,
    require: Callable[[], None] = lambda: None,
) -> None:
    """Add the commands of verbs to the group of this name. `require` stops a command that lacks a package."""
    for verb in verbs:
        app.command(verb.name)(_command(group, verb, present, require))


def _command(group: str, verb: Verb[Any], present: Present, require: Callable[[], None]) -> Callable[..., None]:
    parameters = [
        _Parameter(name, field, model is verb.target)
        for model in (verb.target, verb.body)
        for name, field in model.model_fields.items()
        if name not in _FOR_PROGRAMS
    ]
    example = f"tablewatch {group} {verb.name} {verb.example}"

    def run(ctx: typer.Context, by: str | None = None, **values: Any) -> None:
        require()
        asks = False
        for item in parameters:
            if item.removal is not None and (values[item.key] is None) != values.pop(item.removal):
                text = f"use either {item.text} or {item.typed.removal}"
                raise Stop(ExitCode.USAGE, Problem("usage", text, hint=example))
            if item.typed.asked and item.field.is_required():
                values[item.key] = _asked()
            elif item.typed.asked:
                asks, values[item.key] = values[item.key], None
        texts = {key: item.text for item in parameters for key in (item.name, item.field.alias or item.name)}
        given = {
            is_target: {
                item.field.alias or item.name: values[item.key] for item in parameters if item.is_target is is_target
            }
            for is_target in (True, False)
        }
        target = _validated(verb.target, given[True], texts)
        _act(ctx.obj, verb, (target, _validated(verb.body, given[False], texts)), texts, present, by, asks=asks)

    run.__name__ = verb.name
    run.__doc__ = f"{f'{verb.summary}. {verb.detail}'.strip()}\n\nExample: {example}"
    declared = [declared for item in parameters for declared in item.declared()]
    by_whom = [_keyword("by", By, None)] if verb.recorded else []
    signature = [_keyword("ctx", typer.Context, inspect.Parameter.empty), *declared, *by_whom]
    vars(run)["__signature__"] = inspect.Signature(signature)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    return run


def _act(
    invocation: Invocation,
    verb: Verb[Any],
    models: Sequence[Any],
    texts: Mapping[str, str],
    present: Present,
    by: str | None,
    *,
    asks: bool,
) -> None:
    from monitor.config.project import Project
    from monitor.triage.errors import explained

    name = who(by)
    project = Project.of(invocation, lazily=not verb.whole)
    with project.open_store(existing=not verb.creates) as store, explained(project.config.timezone):
        acting = Acting(
            project,
            store,
            name,
            os_account(name),
            note=invocation.note,
            named=lambda field: texts.get(field, field),
            ask=lambda: _asked() if asks else None,
        )
        present(invocation, project, store, verb.act(acting, *models))


def _validated(model: type[BaseModel], values: Mapping[str, Any], texts: Mapping[str, str]) -> BaseModel:
    """Return a model of the values that were typed.

    Raises:
        Stop: a value is not valid; the problem names the option.
    """
    from checks.parameters.errors import describe_error

    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [
            Problem("usage", describe_error({**item, "loc": tuple(texts.get(str(key), key) for key in item["loc"])}))
            for item in error.errors(include_url=False, include_input=False)
        ]
        raise Stop(ExitCode.USAGE, *problems) from None


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield the metadata inside an annotation such as `Annotated[int, Ge(1)] | None`."""
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    for inner in get_args(annotation):
        yield from _marks(inner)


def _kind(annotation: Any) -> Any:
    """Return the type of an annotation: without its metadata, and without None."""
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return list.__class_getitem__(_kind(get_args(annotation)[0]))
    if get_args(annotation):
        (inner,) = (item for item in get_args(annotation) if item is not type(None))
        return _kind(inner)
    return annotation


def _asked() -> str:
    """Return a password that is typed twice, or is the first line of a pipe.

    Raises:
        Stop: the two are not the same.
    """
    import sys
    from getpass import getpass

    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    secret = getpass("Password: ")
    if getpass("Again: ") != secret:
        raise Stop(ExitCode.USAGE, Problem("usage", "the two are not the same; nothing was changed"))
    return secret


def _identifier(option: str) -> str:
    name = option.removeprefix("--").replace("-", "_")
    return f"{name}_" if iskeyword(name) else name


def _keyword(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
