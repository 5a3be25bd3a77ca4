"""A kind of channel is one class: configuration, schema, masking, `doctor` and delivery read everything there."""

import subprocess
import sys

import pytest

from monitor.channels import KINDS
from monitor.channels.on_call import OnCall
from monitor.config import Channel


def test_a_new_kind_is_one_class(tmp_path):
    """A kind that one file makes is configured, masked, checked, described in the schema, and sent through."""
    program = [sys.executable, "-m", "tests.monitor.channels.dummy_kind", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0501234 msg_1 orders is late\n", "")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_kind_says_what_is_secret(kind):
    """A kind without secrets would show its address to all users; a calendar only names other channels."""
    assert kind.secrets or kind.settings is OnCall


def test_a_channel_is_of_one_kind():
    """The error names the kinds that there are."""
    with pytest.raises(ValueError, match=f"exactly one of {', '.join(KINDS)}"):
        Channel()
