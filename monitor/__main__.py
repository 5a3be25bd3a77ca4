"""`tablewatch`, and `python -m monitor`: Ctrl-C ends it silently with 130 also while the command line is imported.

What Python does before it imports this package cannot be caught here.
"""

import os

_signal = __import__("_signal")  # `signal` makes words for its numbers, which takes time


def main() -> None:
    """Run the command line.

    Until it is imported, Ctrl-C ends the process at once: nothing was begun, and libraries make other errors of one
    that is raised while they are imported.
    """
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # else Ctrl-C is ignored, as under nohup
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    from monitor.cli import main as run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
