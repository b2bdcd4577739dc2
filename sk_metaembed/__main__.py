"""``python -m sk_metaembed``: tables from the command line."""

import sys

from ._command_line import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
