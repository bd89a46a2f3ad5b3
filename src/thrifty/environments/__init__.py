"""Environments: replayed tables, synthetic worlds, families of worlds, and Nursery."""

from thrifty.environments import families, nursery
from thrifty.environments.replay import Replay
from thrifty.environments.schedule import Schedule
from thrifty.environments.truth import Truth
from thrifty.environments.world import World

__all__ = ["Replay", "Schedule", "Truth", "World", "families", "nursery"]
