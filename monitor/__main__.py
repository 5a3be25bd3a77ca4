"""`python -m monitor` is `tablewatch`."""

from monitor.cli import main

main()
