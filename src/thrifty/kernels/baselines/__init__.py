"""Kernels of the simple policies."""
