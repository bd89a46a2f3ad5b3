"""Families of markets: each seed gives another market of the same kind.

The seed varies thresholds, prices, effect sizes, the order of the columns and the times of changes.
Every market also sells a few useless columns. Numbers have up to 60 intervals. A policy that takes
a safe action does not learn the outcome of the case.

>>> FAMILIES["lending"](0)
Market(8000 cases, 8 features, 2 actions)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.market import ROUNDS, Market, Regime, Rewards
from thrifty.environments.market_columns import Column, joint_from_levels, joint_from_outcome
from thrifty.environments.market_tables import (
    Signal,
    changing_shares,
    make_market,
    parameters_stream,
    signal_market,
    tilted,
    useless_columns,
    vary,
)
from thrifty.prices import Group

Floats = NDArray[np.float64]
LETTERS = tuple("abcdefgh")


def shop(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Whom to give a discount: a cheap category tells most, and no action is safe.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> shop(0).problem.actions
    ('full price', 'discount')
    """
    return _shop("shop", seed, turns=0, rounds=rounds)


def shop_turning(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Like `shop`, but the meaning of the informative columns turns round three times.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> len(shop_turning(0).regimes)
    4
    """
    return _shop("shop-turning", seed, turns=3, rounds=rounds)


def _shop(family: str, seed: int, *, turns: int, rounds: int) -> Market:
    rng = parameters_stream(family, seed)
    hesitant = rng.uniform(0.45, 0.6)
    shares = np.array([1 - hesitant, hesitant])
    segment, visits = vary(rng, 1.5), vary(rng, 0.8)
    frequencies = rng.dirichlet(np.full(5, 8.0)), [0.35, 0.45, 0.2]
    signals = (
        Signal("segment", vary(rng, 0.4), tilted(frequencies[0], (-segment, segment)), LETTERS[:5]),
        Signal("visits", vary(rng, 0.8), tilted(frequencies[1], (-visits, visits))),
    )
    margin = vary(rng, 40, 0.1)
    rewards: Rewards = {
        "full price": {"decided": margin, "hesitant": 0},
        "discount": {"decided": round(0.65 * margin, 2), "hesitant": round(0.5 * margin, 2)},
    }
    likelihoods = [signal.likelihood for signal in signals]
    turned = [table[::-1] for table in likelihoods]
    regimes = [
        Regime(joint_from_outcome(shares, *(turned if k % 2 else likelihoods)), share)
        for k, share in enumerate(changing_shares(rng, turns + 1))
    ]
    columns = [signal.column(shares) for signal in signals]
    useless = useless_columns(vary(rng, 0.3))
    return make_market(rng, columns, useless, rewards, regimes, rounds=rounds, seed=seed)


LENDING: Rewards = {"decline": 0, "approve": {"repaid": 300, "default": -1500}}


def _lending_signals(rng: np.random.Generator) -> tuple[Signal, ...]:
    def tilt(size: float) -> tuple[float, float]:
        half = vary(rng, size) / 2
        return half, -half

    return (
        Signal("age", None, tilted([0.15, 0.60, 0.25], tilt(0.4))),
        Signal("income", vary(rng, 4), tilted([0.1, 0.3, 0.4, 0.2], tilt(0.7))),
        Signal("history", vary(rng, 12), tilted([0.1, 0.2, 0.6, 0.1], tilt(1.1)), LETTERS[:4]),
        Signal("surplus", vary(rng, 25), tilted([0.15, 0.25, 0.6], tilt(1.4))),
        Signal("employer", vary(rng, 15), tilted([0.1, 0.9], tilt(0.6)), ("unknown", "confirmed")),
    )


def lending(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Approve or decline: declining is safe, but never shows whether the loan had been repaid.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> lending(0).truth.constant
    0.0
    """
    rng = parameters_stream("lending", seed)
    signals = _lending_signals(rng)
    default = rng.uniform(0.17, 0.25)
    shares = np.array([1 - default, default])
    useless = useless_columns(vary(rng, 2))
    return signal_market(rng, signals, shares, useless, LENDING, rounds=rounds, seed=seed)


def lending_crisis(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Like `lending`, but halfway more loans default and other columns become informative.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> before, after = lending_crisis(0).truths
    >>> before.constant > after.constant
    True
    """
    rng = parameters_stream("lending-crisis", seed)
    before, after = _lending_signals(rng), _lending_signals(rng)
    default = rng.uniform(0.10, 0.14)
    shares = np.array([1 - default, default])
    worse = np.array([1 - 2 * default, 2 * default])
    # Age, income and employer keep their meaning. History loses its own, and surplus gains some.
    likelihoods = [signal.likelihood for signal in before]
    changed = [*likelihoods]
    changed[2] = tilted(after[2].likelihood.mean(axis=0), (0.1, -0.1))
    changed[3] = tilted(after[3].likelihood.mean(axis=0), (1.1, -1.1))
    first, second = changing_shares(rng, 2)
    regimes = [
        Regime(joint_from_outcome(shares, *likelihoods), first),
        Regime(joint_from_outcome(worse, *changed), second),
    ]
    columns = [signal.column(shares) for signal in before]
    useless = useless_columns(vary(rng, 2))
    return make_market(rng, columns, useless, LENDING, regimes, rounds=rounds, seed=seed)


def permuted(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Like `lending`, but the outcome is independent of everything: nothing is worth buying.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> permuted(0).truth.has_something_to_gain
    False
    """
    rng = parameters_stream("permuted", seed)
    signals = _lending_signals(rng)
    default = rng.uniform(0.17, 0.25)
    shares = np.array([1 - default, default])
    unrelated = [
        replace(signal, likelihood=np.tile(shares @ signal.likelihood, (2, 1)))
        for signal in signals
    ]
    useless = useless_columns(vary(rng, 2))
    return signal_market(rng, unrelated, shares, useless, LENDING, rounds=rounds, seed=seed)


def triage(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Three actions, three outcomes, and errors of different cost.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> triage(0).problem.outcomes.names
    ('well', 'mild', 'severe')
    """
    rng = parameters_stream("triage", seed)
    mild, severe = rng.uniform(0.18, 0.28), rng.uniform(0.06, 0.11)
    shares = np.array([1 - mild - severe, mild, severe])

    def tilts(size: float) -> Floats:
        return np.array([-0.5, 0.25, 1.0]) * vary(rng, size)

    signals = (
        Signal("temperature", None, tilted([0.65, 0.25, 0.1], tilts(1.0))),
        Signal("pulse", vary(rng, 0.6), tilted([0.6, 0.28, 0.12], tilts(1.4))),
        Signal("crp", vary(rng, 2.5), tilted([0.55, 0.25, 0.13, 0.07], tilts(2.4))),
        Signal(
            "scan", vary(rng, 6), tilted([0.6, 0.25, 0.15], tilts(3.6)), ("clear", "?", "finding")
        ),
    )
    rewards: Rewards = {
        "home": {"well": 0, "mild": -30, "severe": -vary(rng, 400)},
        "clinic": {"well": -10, "mild": -8, "severe": -vary(rng, 150)},
        "hospital": {"well": -60, "mild": -50, "severe": -50},
    }
    useless = useless_columns(vary(rng, 0.3))
    return signal_market(rng, signals, shares, useless, rewards, rounds=rounds, seed=seed)


def fraud(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Pass or block payments: 1 to 3 % are fraud, and blocking hides which ones.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> bool(fraud(0).regimes[0].joint[..., 1].sum() < 0.03)
    True
    """
    rng = parameters_stream("fraud", seed)
    rare = rng.uniform(0.01, 0.03)
    shares = np.array([1 - rare, rare])

    def tilts(size: float) -> tuple[float, float]:
        return 0.0, vary(rng, size)

    signals = (
        Signal("amount", None, tilted([0.6, 0.35, 0.05], tilts(0.9))),
        Signal("device", vary(rng, 0.05), tilted([0.9, 0.1], tilts(1.1)), ("known", "new")),
        Signal("velocity", vary(rng, 0.10), tilted([0.88, 0.09, 0.03], tilts(1.2))),
        Signal("identity", vary(rng, 0.8), tilted([0.97, 0.03], tilts(2.3)), ("match", "other")),
    )
    rewards: Rewards = {
        "pass": {"genuine": 2, "fraud": -vary(rng, 150)},
        "block": {"genuine": -5, "fraud": -5},
    }
    useless = useless_columns(vary(rng, 0.03))
    return signal_market(rng, signals, shares, useless, rewards, rounds=rounds, seed=seed)


def router(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Send a request to a small or a large model: gains are small, and so are prices.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> router(0).problem.actions
    ('small', 'large')
    """
    rng = parameters_stream("router", seed)
    hard, hopeless = rng.uniform(0.25, 0.35), rng.uniform(0.08, 0.15)
    shares = np.array([1 - hard - hopeless, hard, hopeless])

    def tilts(size: float) -> Floats:
        return np.array([-0.5, 0.5, 0.6]) * vary(rng, size)

    topics = rng.dirichlet(np.full(6, 8.0))
    signals = (
        Signal("length", None, tilted([0.5, 0.35, 0.15], tilts(0.7))),
        Signal("topic", vary(rng, 0.004), tilted(topics, tilts(1.0)), LETTERS[:6]),
        Signal("difficulty", vary(rng, 0.012), tilted([0.2, 0.3, 0.3, 0.15, 0.05], tilts(2.0))),
        Signal("draft", vary(rng, 0.03), tilted([0.4, 0.6], tilts(2.0)), ("plausible", "odd")),
    )
    cost = vary(rng, 0.2)
    rewards: Rewards = {
        "small": {"easy": 1, "hard": 0.1, "hopeless": 0},
        "large": {"easy": 1 - cost, "hard": 1 - cost, "hopeless": -cost},
    }
    useless = useless_columns(vary(rng, 0.003))
    return signal_market(rng, signals, shares, useless, rewards, rounds=rounds, seed=seed)


def subgroup(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Treat or wait: one test pays in one free subgroup only, and a dearer one in another.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> truth = subgroup(0).truth
    >>> truth.stepwise > truth.fixed
    True
    """
    rng = parameters_stream("subgroup", seed)
    order = rng.permutation(5)
    sites = np.array([0.28, 0.25, 0.22, 0.15, 0.10])[order]
    first, second = rng.permutation(np.flatnonzero(order < 3))[:2]
    old, low = rng.uniform(0.2, 0.35), rng.uniform(0.04, 0.10)

    def ill(site: Floats, age: Floats, test: Floats, scan: Floats) -> Floats:
        by_test = np.where(test == 1, 1 - low, low)
        by_scan = np.where(scan == 2, 1 - low, np.where(scan == 1, 0.4, low))
        elsewhere = np.where(age == 1, 0.25, 0.15)
        return np.where(site == first, by_test, np.where(site == second, by_scan, elsewhere))

    cut = rng.uniform(0.35, 0.6)
    tests = [cut, 1 - cut], [0.5, 0.25, 0.25]
    joint = joint_from_levels([sites, [1 - old, old], *tests], ill)
    columns = [
        Column("site", None, levels=LETTERS[:5]),
        Column("age", None, ends=(0.0, 100 * (1 - old), 100.0)),
        Column("test", vary(rng, 1.0), ends=(0.0, 100 * cut, 100.0)),
        Column("scan", vary(rng, 1.1), ends=(0.0, 50.0, 75.0, 100.0)),
    ]
    rewards: Rewards = {"wait": 0, "treat": {"well": -vary(rng, 9, 0.1), "ill": vary(rng, 9, 0.1)}}
    useless = useless_columns(vary(rng, 0.1))
    return make_market(rng, columns, useless, rewards, [Regime(joint)], rounds=rounds, seed=seed)


def fees(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Laboratory tests and pictures in two groups, each with a setup fee.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> [group.name for group in fees(0).problem.prices.groups]
    ['blood', 'imaging']
    """
    rng = parameters_stream("fees", seed)
    ill = rng.uniform(0.2, 0.3)
    shares = np.array([1 - ill, ill])

    def tilts(size: float) -> tuple[float, float]:
        half = vary(rng, size) / 2
        return -half, half

    signals = (
        Signal("fever", None, tilted([0.6, 0.4], tilts(0.3)), ("no", "yes")),
        Signal("tsh", vary(rng, 2.0), tilted([0.6, 0.27, 0.13], tilts(1.6))),
        Signal("t4", vary(rng, 1.5), tilted([0.6, 0.28, 0.12], tilts(1.3))),
        Signal("crp", vary(rng, 1.0), tilted([0.75, 0.25], tilts(1.2))),
        Signal("xray", vary(rng, 4.0), tilted([0.75, 0.25], tilts(1.2)), ("clear", "shadow")),
        Signal("ct", vary(rng, 9.0), tilted([0.75, 0.25], tilts(2.7))),
    )
    rewards: Rewards = {
        "discharge": {"well": 0, "ill": -vary(rng, 200)},
        "admit": {"well": -60, "ill": -20},
    }
    groups = (
        Group("blood", ("tsh", "t4", "crp"), vary(rng, 4.0)),
        Group("imaging", ("xray", "ct"), vary(rng, 6.0)),
    )
    useless = useless_columns(vary(rng, 0.5))
    return signal_market(
        rng, signals, shares, useless, rewards, groups=groups, rounds=rounds, seed=seed
    )


def thresholds(seed: int, *, rounds: int = ROUNDS) -> Market:
    """Blood tests that matter in their tails only, with missing values, as for the thyroid.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> tsh = next(column for column in thresholds(0).columns if column.name == "tsh")
    >>> [round(percentile) for percentile in tsh.ends]
    [0, 4, 93, 100]
    """
    rng = parameters_stream("thresholds", seed)
    under, over = rng.uniform(0.04, 0.07), rng.uniform(0.02, 0.04)
    shares = np.array([1 - under - over, under, over])
    seen = rng.uniform(0.8, 0.95)
    tsh = [[0.01, 0.96, 0.03], [0.01, 0.09, 0.90], [0.85, 0.14, 0.01]]
    t4 = [[0.02, 0.96, 0.02], [0.75, 0.24, 0.01], [0.01, 0.29, 0.70]]
    t3 = np.array([[0.03, 0.94, 0.03], [0.45, 0.54, 0.01], [0.01, 0.24, 0.75]]) * seen
    signals = (
        Signal("age", None, tilted([0.5, 0.5], (0.0, 0.3, 0.2))),
        Signal("tsh", vary(rng, 20), np.array(tsh)),
        Signal("t4", vary(rng, 9), np.array(t4)),
        Signal("t3", vary(rng, 8), np.c_[t3, np.full(3, 1 - seen)], has_missing=True),
    )
    error = vary(rng, 1000)
    rewards: Rewards = {
        "none": {"normal": 0, "under": -error, "over": -error},
        "hormone": {"normal": -error / 2, "under": 0, "over": -error},
        "blocker": {"normal": -error / 2, "under": -error, "over": 0},
    }
    groups = (Group("blood", ("tsh", "t4", "t3"), vary(rng, 3)),)
    useless = useless_columns(vary(rng, 1))
    return signal_market(
        rng, signals, shares, useless, rewards, groups=groups, rounds=rounds, seed=seed
    )


def nothing(seed: int, *, rounds: int = ROUNDS) -> Market:
    """No column is informative: always going is best.

    Parameters
    ----------
    seed : int
        Random seed of the parameters and the cases.
    rounds : int
        Number of cases.

    Returns
    -------
    Market
        The market of this seed.

    Examples
    --------
    >>> nothing(0).truth.has_something_to_gain
    False
    """
    rng = parameters_stream("nothing", seed)
    chance = rng.uniform(0.48, 0.58)
    joint = joint_from_outcome([1 - chance, chance], [[0.5, 0.5], [0.5, 0.5]])
    coin = Column("coin", None, levels=("heads", "tails"))
    useless = [
        *useless_columns(vary(rng, 0.1)),
        Column("number", vary(rng, 0.5), ends=(0.0, 100.0)),
        Column("region", vary(rng, 0.05), levels=tuple(f"r{k}" for k in range(40))),
    ]
    rewards: Rewards = {"go": {"no": -8, "yes": 10}, "stop": 0}
    return make_market(rng, [coin], useless, rewards, [Regime(joint)], rounds=rounds, seed=seed)


FAMILIES: Mapping[str, Callable[..., Market]] = MappingProxyType(
    {
        "shop": shop,
        "shop-turning": shop_turning,
        "lending": lending,
        "lending-crisis": lending_crisis,
        "triage": triage,
        "fraud": fraud,
        "router": router,
        "subgroup": subgroup,
        "fees": fees,
        "thresholds": thresholds,
        "nothing": nothing,
        "permuted": permuted,
    }
)
"""Every family by name, as `make(seed, *, rounds=8000)`."""
