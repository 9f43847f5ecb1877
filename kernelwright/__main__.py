"""`python -m kernelwright` is the command line."""

from kernelwright.cli import main

main()
