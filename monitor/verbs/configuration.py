"""The verb of the configuration: change a table in a file that Tablewatch owns; hand-written files stay as they are."""

from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import MaxLen
from pydantic import Field

from monitor.verbs.verb import Access, Acting, Body, Lines, Name, Nothing, Typed, Verb

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.config import Loaded


class TableSettings(Body):
    """What is to hold for a table."""

    table: Annotated[Name, Typed(metavar="TABLE", argument=True)] = Field(description="Table; a new one has a source.")
    settings: Annotated[Lines, Typed(metavar="YAML", argument=True)] = Field(
        description="Settings of the table in YAML, such as 'owner: desk'; checks by their id."
    )


class ChangeBody(TableSettings):
    """A change, and the state of the file of which its diff was drawn."""

    drawn_of: Annotated[str, MaxLen(64)] | None = Field(
        None, description="The `digest` of the file when the diff was drawn; refused (409) if it changed since."
    )


@dataclass(frozen=True, slots=True)
class DraftedChange:
    """A change that is valid: the configuration on the disk and the one that it would make, with the file's texts.

    `file` is the one that Tablewatch owns; `is_allowed`: the configuration reads it.
    """

    file: "Path"
    is_allowed: bool
    before: "Loaded"
    after: "Loaded"
    text: str
    new_text: str

    @property
    def digest(self) -> str:
        """Return the state of the file."""
        from monitor.config.page_changes import digest_of_text

        return digest_of_text(self.text)

    @property
    def patch(self) -> str:
        """Return the change of the file as a patch, to be applied beside the configuration."""
        from monitor.config.page_changes import NAME

        old, new = (text.splitlines(keepends=True) for text in (self.text, self.new_text))
        source = f"a/{NAME.as_posix()}" if self.text else "/dev/null"
        return "".join(unified_diff(old, new, source, f"b/{NAME.as_posix()}"))


def draft_change(acting: Acting, body: TableSettings) -> DraftedChange:
    """Return a change as it would be, by the configuration on the disk; nothing is written.

    Raises:
        Stop: it cannot be read, or the configuration would have errors.
    """
    from monitor.config import ConfigError, load
    from monitor.config.page_changes import are_allowed, changed_text, changes_file, settings_of
    from monitor.config.yaml_nodes import Unreadable
    from monitor.terminal.problem import ExitCode, Stop

    path = acting.project.loaded.path
    file = changes_file(path)
    try:
        before = load(path)
        text = _text_of(file)
        new_text = changed_text(text, body.table, settings_of(body.settings))
        after = load(path, changes=new_text)
    except Unreadable as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    except ConfigError as error:
        raise Stop(ExitCode.USAGE, *error.problems) from None
    return DraftedChange(file, are_allowed(before.tree), before, after, text, new_text)


def _text_of(file: "Path") -> str:
    return file.read_text("utf-8") if file.is_file() else ""


def _change(acting: Acting, _: Nothing, body: ChangeBody) -> DraftedChange:
    from monitor.config.page_changes import REFUSED
    from monitor.terminal.output_file import ProtectedFiles, write_text
    from monitor.terminal.problem import ExitCode, Problem, Stop
    from store import LoggedEvent, LoggedEventKind

    acting.check_table(body.table)
    draft = draft_change(acting, body)
    if not draft.is_allowed:
        hint = "set 'web: {changes: true}' in the configuration, or apply the change as a patch"
        raise Stop(ExitCode.USAGE, Problem(REFUSED, "the configuration does not let pages change it", hint=hint))
    with acting.store.writing() as tx:  # one at a time: who comes second sees what the first has written
        if body.drawn_of not in {None, draft.digest} or _text_of(draft.file) != draft.text:
            message = f"{draft.file.name} was changed since this diff was drawn; draw it again"
            raise Stop(ExitCode.USAGE, Problem("config.changed", message))
        if draft.new_text != draft.text:
            now = tx.schedule.clock(acting.project.clock.now())
            known = body.table if draft.before.config.table(body.table) is not None else None
            note = f"{body.table} changed in {draft.file.name}"
            event = LoggedEvent(LoggedEventKind.CONFIGURATION, now, known, None, note, acting.actor, now)
            tx.logged_events.add(event)
            write_text(draft.file, draft.new_text, protected=ProtectedFiles(), force=True)
    return draft


CHANGE: Final = Verb(
    "change",
    Nothing,
    ChangeBody,
    _change,
    "Change a table in the file that Tablewatch owns",
    "sales.orders 'owner: desk'",
    "The file is tablewatch.d/ui.yaml, which `web.changes` lets lie over the others; those are never rewritten.",
    access=Access.ADMINISTER,
    creates=True,
)
