"""Settings for every test."""

import os

# Nets in tests are tiny: threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
