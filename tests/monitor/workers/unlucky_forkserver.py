"""The forkserver on a machine that has no more processes at first."""

import errno
import os
import sys
from itertools import count

from monitor.workers.forkserver import main

FAILURES = 2
_fork, _asked = os.fork, count(1)


def _unlucky() -> int:
    if next(_asked) <= FAILURES:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return _fork()


if __name__ == "__main__":
    os.fork = _unlucky
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
