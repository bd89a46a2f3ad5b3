"""Peers for `thrifty run priced --method benchmarks/priced_peers.py`: other ways to buy and act."""

from __future__ import annotations

from benchmarks.priced_boosters import LightGBM, MaskedBooster
from benchmarks.priced_trees import CSID3, EG2, IDX, CostComplexityTree, OptimalTree

METHODS = (LightGBM, CostComplexityTree, OptimalTree, EG2, CSID3, IDX, MaskedBooster)
