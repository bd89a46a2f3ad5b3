"""What Surveyor loses at most, and how soon it recovers: `python -m benchmarks.surveyor_promises`.

- Loss: in markets whose outcomes are independent of everything, the largest loss against the best
  constant action, in the rewards that were drawn: beside `max_loss` where it is given, and beside
  3% of the headroom where it is not (the parts `limited` and `default`). Seeds 200 to 299.
- Turns: in markets whose informative columns turn round three times, the share of the way from the
  best constant action to the best new plan, 750 to 1,000 cases after each turn. Seeds 200 to 209.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np

from thrifty.environments.market import Market
from thrifty.environments.markets import FAMILIES
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.rounds import Run

LOSS_SEEDS = range(200, 300)
TURN_SEEDS = range(200, 210)
WINDOW = 750, 1_000
GOAL = 0.8
LIMIT, MOST = 0.02, 0.03
T = TypeVar("T")


def played(market: Market, seed: int, max_loss: float | None = None) -> Run:
    """Let Surveyor play all cases without past ones."""
    market.reset(seed=seed)
    return play(
        Surveyor(market.problem, horizon=market.horizon, max_loss=max_loss, seed=seed), market
    )


def largest_loss(seed: int, *, is_limited: bool) -> float:
    """Play a market in which nothing can be gained, and return the largest loss in drawn rewards.

    It is a share of the limit, if one is given, and of the headroom by default.
    """
    market = FAMILIES["permuted"](seed)
    cases, scale = market.stream(seed), market.problem.rewards
    constant = cases.rewards[market.best_constants(), cases.outcomes]
    headroom = market.truth.headroom * market.horizon
    limit = LIMIT * headroom
    run = played(market, seed, limit / scale.span if is_limited else None)
    gains = scale.low + scale.span * (run.rewards - run.costs)
    largest = max(float(-np.cumsum(gains - constant).min()), 0.0)
    return largest / (limit if is_limited else headroom)


def turns(seed: int) -> list[float]:
    """Play a market that turns round, and return the share after each turn."""
    market = FAMILIES["shop-turning"](seed)
    run = played(market, seed)
    rows, expected = np.arange(market.horizon), market.expected_rewards(seed)
    gains = expected[rows, run.actions] - market.problem.rewards.span * run.costs
    more = gains - expected[rows, market.best_constants()]
    return [
        market.truths[k].share(float(more[start + WINDOW[0] : start + WINDOW[1]].mean()))
        for k, start in enumerate(market.starts[1:-1], start=1)
    ]


def with_progress(results: Iterable[T], part: str, seeds: Sequence[int]) -> Iterator[T]:
    """Yield results, and print each one to the standard error."""
    for seed, result in zip(seeds, results, strict=True):
        print(f"{part}, seed {seed}: {result}", file=sys.stderr)
        yield result


def show_limited(pool: Executor, seeds: Sequence[int]) -> None:
    """Print how often the loss stayed within a limit that was given."""
    found = pool.map(partial(largest_loss, is_limited=True), seeds)
    limited = np.array(list(with_progress(found, "limited", seeds)))
    print(
        f"loss with max_loss = {LIMIT:.0%} of the headroom: within it in {(limited <= 1).sum()} of "
        f"{limited.size} runs, largest {limited.max():.2f} of it"
    )


def show_default(pool: Executor, seeds: Sequence[int]) -> None:
    """Print how often the loss was small by default."""
    found = pool.map(partial(largest_loss, is_limited=False), seeds)
    usual = np.array(list(with_progress(found, "default", seeds)))
    print(
        f"loss by default: at most {MOST:.0%} of the headroom in {(usual <= MOST).sum()} of "
        f"{usual.size} runs, mean {usual.mean():.2%}, largest {usual.max():.2%}"
    )


def show_turns(pool: Executor, seeds: Sequence[int]) -> None:
    """Print how soon Surveyor recovered from turns."""
    shares = list(with_progress(pool.map(turns, seeds), "turns", seeds))
    flat = np.concatenate(shares)
    n_good = sum(all(share >= GOAL for share in each) for each in shares)
    print(
        f"turns: at least {GOAL:.0%} of the new optimum after 1,000 cases in "
        f"{(flat >= GOAL).sum()} of {flat.size} turns, in all turns of {n_good} of {len(shares)} "
        f"seeds; mean {flat.mean():.2f}, smallest {flat.min():.2f}"
    )


PARTS = {"limited": show_limited, "turns": show_turns, "default": show_default}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each promise."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.surveyor_promises", description=__doc__
    )
    parser.add_argument("parts", nargs="*", help=f"by default all: {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=len(LOSS_SEEDS), help="of each kind of loss")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.workers) as pool:
        for part in options.parts or PARTS:
            is_turns = part == "turns"
            PARTS[part](pool, TURN_SEEDS if is_turns else LOSS_SEEDS[: options.runs])
    return 0


if __name__ == "__main__":
    sys.exit(main())
