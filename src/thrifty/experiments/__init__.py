"""Experiments: which policies play which worlds, and what is reported of them."""
