"""Many problems, one row each: what `kernelwright bench` does."""
