"""Run commands one after the other in one process, each as `tablewatch` itself would, and keep what each one says.

`python -m tests.privacy.session PLAN.json FOLDER`: a plan is a list of `{"name", "words", "at", "environment"}`; what
each says goes to FOLDER/NAME.out and FOLDER/NAME.err, its exit code to FOLDER/NAME.code.
"""

import json
import os
import sys
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import time_machine


def run(step: dict[str, Any], folder: Path) -> None:
    """Run one command."""
    from monitor.cli import main

    name = step["name"]
    streams = [os.open(folder / f"{name}.{end}", os.O_CREAT | os.O_WRONLY, 0o600) for end in ("out", "err")]
    before = [os.dup(1), os.dup(2)]
    os.dup2(streams[0], 1)
    os.dup2(streams[1], 2)
    at = datetime.fromisoformat(step["at"]) if step.get("at") else None
    os.environ |= step.get("environment", {})
    sys.argv = ["tablewatch", *step["words"]]
    code: object = 0
    try:
        with time_machine.travel(at, tick=True) if at else nullcontext():
            main()
    except SystemExit as leaving:
        code = leaving.code
    except BaseException as error:  # noqa: BLE001 - as the interpreter would: the hook says what there is to say
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except SystemExit as leaving:
            code = leaving.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number in step.get("environment", {}):
            os.environ.pop(number)
        for target, (stream, old) in enumerate(zip(streams, before, strict=True), 1):
            os.dup2(old, target)
            os.close(old)
            os.close(stream)
    (folder / f"{name}.code").write_text(str(code))


if __name__ == "__main__":
    plan, said = map(Path, sys.argv[1:])
    for load in json.loads(plan.read_text(encoding="utf-8")):
        run(load, said)
