"""`python -m vivace` is the `vivace` command."""

import sys

from .cli import main

sys.exit(main())
