"""Environments: replayed tables, synthetic worlds, families of worlds, markets, and Nursery."""

from thrifty.environments import families, markets, nursery
from thrifty.environments.market import Market, MarketTruth, Regime
from thrifty.environments.market_columns import Column
from thrifty.environments.replay import Replay
from thrifty.environments.schedule import Schedule
from thrifty.environments.truth import Truth
from thrifty.environments.world import World

__all__ = [
    "Column",
    "Market",
    "MarketTruth",
    "Regime",
    "Replay",
    "Schedule",
    "Truth",
    "World",
    "families",
    "markets",
    "nursery",
]
