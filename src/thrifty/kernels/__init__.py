"""Compiled functions on plain arrays: numpy and numba only.

One file per algorithm: a named tuple of arrays (the state), a function that makes it, and the
compiled steps of a round, registered in `steps`. Every function here has a slow, obvious twin in
tests/naive.py.
"""
