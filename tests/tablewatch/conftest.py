"""What the tests of the public API may use."""

from tests.monitor.commands.conftest import terminal

__all__ = ["terminal"]
