"""``python -m archeng``: the command line."""

import sys

from archeng.cli import main

if __name__ == "__main__":
    sys.exit(main())
