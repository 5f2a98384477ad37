"""`python -m incrowd` is the command `incrowd`."""

from incrowd.cli import main

if __name__ == "__main__":
    main()
