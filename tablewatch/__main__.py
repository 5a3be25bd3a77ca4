"""`python -m tablewatch` is `tablewatch`."""

from monitor.__main__ import main

if __name__ == "__main__":
    main()
