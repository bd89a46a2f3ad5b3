"""What Surveyor loses at most, and how soon it recovers: `python -m benchmarks.surveyor_promises`.

- Loss: in markets whose outcomes are independent of everything, the largest loss against the best
  constant action, in the rewards that were drawn: beside `max_loss` where it is given, and beside
  3% of the headroom where it is not. Seeds 200 to 299.
- Turns: in markets whose informative columns turn round three times, the share of the way from the
  best constant action to the best new plan, 750 to 1,000 cases after each turn. Seeds 200 to 209.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

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


class Loss(NamedTuple):
    """Largest losses in drawn rewards: with a limit, of that; by default, of the headroom."""

    limited: float
    usual: float


def played(market: Market, seed: int, max_loss: float | None = None) -> Run:
    """Let Surveyor play all cases without past ones."""
    market.reset(seed=seed)
    return play(
        Surveyor(market.problem, horizon=market.horizon, max_loss=max_loss, seed=seed), market
    )


def loss(seed: int) -> Loss:
    """Play a market in which nothing can be gained, with a given limit and without."""
    market = FAMILIES["permuted"](seed)
    cases, scale = market.stream(seed), market.problem.rewards
    constant = cases.rewards[market.best_constants(), cases.outcomes]
    headroom = market.truth.headroom * market.horizon

    def largest(max_loss: float | None) -> float:
        run = played(market, seed, max_loss)
        gains = scale.low + scale.span * (run.rewards - run.costs)
        return max(float(-np.cumsum(gains - constant).min()), 0.0)

    limit = LIMIT * headroom
    return Loss(largest(limit / scale.span) / limit, largest(None) / headroom)


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each promise."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.surveyor_promises", description=__doc__
    )
    parser.add_argument("--runs", type=int, default=len(LOSS_SEEDS))
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.workers) as pool:
        losses, seeds_of_losses = [], LOSS_SEEDS[: options.runs]
        for seed, found in zip(seeds_of_losses, pool.map(loss, seeds_of_losses), strict=True):
            losses.append(found)
            print(f"seed {seed}: {found.limited:.3f}, {found.usual:.2%}", file=sys.stderr)
        shares = list(pool.map(turns, TURN_SEEDS))
    limited, usual = np.array(losses).T
    print(
        f"loss with max_loss = {LIMIT:.0%} of the headroom: within it in {(limited <= 1).sum()} of "
        f"{limited.size} runs, largest {limited.max():.2f} of it"
    )
    print(
        f"loss by default: at most {MOST:.0%} of the headroom in {(usual <= MOST).sum()} of "
        f"{usual.size} runs, mean {usual.mean():.2%}, largest {usual.max():.2%}"
    )
    flat = np.concatenate(shares)
    seeds = sum(all(share >= GOAL for share in each) for each in shares)
    print(
        f"turns: at least {GOAL:.0%} of the new optimum after 1,000 cases in "
        f"{(flat >= GOAL).sum()} of {flat.size} turns, in all turns of {seeds} of {len(shares)} "
        f"seeds; mean {flat.mean():.2f}, smallest {flat.min():.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
