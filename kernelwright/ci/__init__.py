"""Kernels of a repository, judged on every change."""
