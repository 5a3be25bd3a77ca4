"""`python -m tablewatch` is `tablewatch`."""

from monitor.cli import main

main()
