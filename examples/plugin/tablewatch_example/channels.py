"""An alert channel: one line of JSON for each message, at the end of a file."""

import json
from pathlib import Path

from pydantic import Field

from tablewatch.plugins import Attempt, ChannelKind, DeliveryFailed, DeliverySucceeded, OutgoingMessage, Settings


class LogFile(Settings):
    """The file."""

    path: str = Field(description="The file; it is made if it is missing.")


class LogFileKind(ChannelKind):
    """Messages as lines of a file."""

    name = "log_file"
    settings = LogFile
    secrets = ()

    def problem(self, settings: LogFile) -> str | None:
        """Return why the file cannot be written, as far as its folder tells."""
        folder = Path(settings.path).absolute().parent
        return None if folder.is_dir() else f"the folder '{folder}' of the log file does not exist; create it"

    def send(self, settings: LogFile, message: OutgoingMessage) -> Attempt:
        """Append the message; `id` is the same at every attempt, so that readers can leave out repetitions."""
        mail = message.mail()
        line = json.dumps({"id": message.id, "title": mail.title, "text": mail.text}, ensure_ascii=False)
        try:
            with Path(settings.path).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            return DeliveryFailed(f"the log file cannot be written ({type(error).__name__})")
        return DeliverySucceeded()
