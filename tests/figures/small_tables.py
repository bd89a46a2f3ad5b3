"""Tables small enough to add up by hand: blocks of ten rounds, two features, two actions."""

import polars as pl

BLOCK = 10


def rows(
    policy: str, seed: int, *, rewards: list[float], costs: list[float], regrets: list[float]
) -> list[tuple[str, int, str, str, int, float]]:
    """One run: it buys x in every round of the first block, else nothing, and then chooses right.

    In the first block it chooses left 4 times and right 6 times, later right only.
    """
    n = len(rewards)
    first, later = [1.0] + [0.0] * (n - 1), [0.0] + [1.0] * (n - 1)
    series = {
        ("gain", ""): [r - c for r, c in zip(rewards, costs, strict=True)],
        ("reward", ""): rewards,
        ("cost", ""): costs,
        ("expected_regret", ""): regrets,
        ("realised_regret", ""): regrets,
        ("purchases", "x"): [BLOCK * it for it in first],
        ("purchases", "y"): [0.0] * n,
        ("choices", "left"): [4 * it for it in first],
        ("choices", "right"): [6.0] + [10.0] * (n - 1),
        ("rounds_by_observations", "0"): [BLOCK * it for it in later],
        ("rounds_by_observations", "1"): [BLOCK * it for it in first],
        ("rounds_by_observations", "2"): [0.0] * n,
        ("reward_by_observations", "0"): [0.0, *rewards[1:]],
        ("reward_by_observations", "1"): [rewards[0]] + [0.0] * (n - 1),
        ("reward_by_observations", "2"): [0.0] * n,
    }
    return [
        (policy, seed, measure, key, k * BLOCK, value)
        for (measure, key), values in series.items()
        for k, value in enumerate(values)
    ]


def table_of(*labels: str) -> pl.DataFrame:
    """Two seeds and two blocks for every label; label number k has k more regret in each block."""
    runs = [
        row
        for k, label in enumerate(labels)
        for seed in (0, 1)
        for row in rows(
            label,
            seed,
            rewards=[8.0 - k, 6.0 + 2 * seed],
            costs=[1.0, 0.0],
            regrets=[1.0 + k, 1.0 + k + 2 * seed],
        )
    ]
    names = ["policy", "seed", "measure", "key", "round", "value"]
    return pl.DataFrame(runs, schema=names, orient="row")
