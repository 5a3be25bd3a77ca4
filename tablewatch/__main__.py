"""`python -m tablewatch` is `tablewatch`."""

from monitor.__main__ import main

main()
