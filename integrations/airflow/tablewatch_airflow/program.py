"""The command `tablewatch` of an environment of its own: no daemon and no web pages are needed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from tablewatch_airflow.errors import NotAnswered, Refused

_OF_THIS_ENVIRONMENT = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
_WRONG_USE, _NOTHING = 2, 5


class TablewatchProgram:
    """Runs the command, by its path, with the configuration of a folder."""

    def __init__(self, program: str, config: str | None = None) -> None:
        self._start = [program, *(() if config is None else ("-c", config))]
        self._process: subprocess.Popen[str] | None = None

    def ask(self, command: Sequence[str], words: Sequence[str] = (), *, timeout_s: float) -> Mapping[str, Any]:
        """Return the JSON that a command prints; `words` are never read as options.

        The command gets the variables of this process, without those of its Python and of Airflow.

        Raises:
            NotAnswered: it cannot be started, does not end in time, or ends with an internal error.
            Refused: wrong use, an error of the configuration, or nothing was chosen.
        """
        line = [*self._start, *command, "--format", "json", *(() if not words else ("--", *words))]
        try:
            self._process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=_environment(),
            )
        except OSError as error:
            raise Refused(f"{self._start[0]} cannot be run: {error.strerror}") from None
        with self._process as process:
            try:
                answer, errors = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise NotAnswered(f"{' '.join(command)} did not end within {timeout_s:g} s") from None
        return _document(answer, errors, process.returncode)

    def stop(self) -> None:
        """End the command, which then records nothing half."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()


def _environment() -> Mapping[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_THIS_ENVIRONMENT and not name.startswith(("AIRFLOW_", "_AIRFLOW_"))
    }


def _document(answer: str, errors: str, code: int) -> Mapping[str, Any]:
    try:
        document = json.loads(answer)
    except ValueError:
        document = None
    if isinstance(document, dict) and code not in {_WRONG_USE, _NOTHING}:
        return document
    text = errors.strip() or (document or {}).get("error") or "no message"
    kind = Refused if code in {_WRONG_USE, _NOTHING} else NotAnswered
    raise kind(f"tablewatch ended with exit code {code}: {str(text)[:2000]}")
