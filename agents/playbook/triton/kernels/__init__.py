"""The kernels' texts, one module for each family."""
