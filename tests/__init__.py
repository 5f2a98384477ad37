"""Tests. What they need of the process is set here, before anything else is loaded."""

import os
import sys

# Matrices are small: the threads of a second core would mostly wait. What is compiled once, need
# not be compiled again by the commands that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
