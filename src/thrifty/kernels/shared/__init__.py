"""Pieces that several policies' kernels use."""
