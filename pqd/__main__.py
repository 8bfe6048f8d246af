"""The command line's entry: ``pqd`` and ``python -m pqd``."""

from pqd.cli import main

if __name__ == "__main__":
    main()
