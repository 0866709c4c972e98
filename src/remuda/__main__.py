"""`python -m remuda`."""

from remuda.cli import main

main()
