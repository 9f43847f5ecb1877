"""Kernels with and without what a seed of the memory advises: `python -m benchmarks.verify_practices` judges them."""
