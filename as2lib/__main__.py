"""`python -m as2lib …` is `as2 …`."""

import sys

from as2lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
