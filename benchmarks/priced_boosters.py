"""Peers on priced tables that use LightGBM: on everything, on a fixed set, and with masks.

All of them model the probability of each outcome, which depends on neither prices nor rewards, so
one set of models serves all error costs of a split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.priced_coding import LARGE, Prices, RankCoding, fold_numbers, unique_rows
from thrifty.experiments.priced_methods import FittedMethod, Method
from thrifty.plans.cases import Bools, Floats, Integers, LookSet, PastCases
from thrifty.plans.tree import Codes, Decisions, Leaf, PlanTree

CODING = ("benchmarks.priced_coding",)
GRID = tuple((leaves, rounds) for leaves in (4, 8, 16) for rounds in (40, 100))
"""Leaves and rounds among which cross-validated log loss chooses, on all features."""
SMALL = 500
"""Number of cases below which cross-validation is repeated four times; below 2,000, twice."""
PATIENCE = 2
"""Forward selection ends after this many steps without a better set."""
WIDE_STEPS = 2
NARROW = 10
"""From the third step on, only this many looks are tried: those that were best alone."""
N_MASKS = 250
MAX_REFERENCES = 2000
"""Cases among which AACO and the value of information look for neighbours."""
VALUES_PER_LOOK = 15
"""Neighbours whose values stand for the unknown value of a look."""

Model = Callable[[Floats], Floats]
"""Returns the probability of every outcome, (n, O), from numbers (n, D)."""
Setting = tuple[int, int]


def _train(
    numbers: Floats, outcomes: Integers, n_outcomes: int, seed: int, **options: Any
) -> Model:
    """Return a model fitted with LightGBM; with one outcome or no columns, the shares."""
    shares = (np.bincount(outcomes, minlength=n_outcomes) + 0.5) / (
        len(outcomes) + 0.5 * n_outcomes
    )
    if numbers.shape[1] == 0 or len(np.unique(outcomes)) == 1:
        return lambda rows: np.broadcast_to(shares, (len(rows), n_outcomes))
    lightgbm = import_module("lightgbm")
    rounds = options.pop("rounds")
    target = {"objective": "multiclass", "num_class": n_outcomes}
    params = {
        **({"objective": "binary"} if n_outcomes == 2 else target),
        "learning_rate": 0.07,
        "lambda_l2": 1.0,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "feature_fraction": 0.8,
        "max_bin": 255,
        "min_data_in_bin": 1,
        "feature_pre_filter": False,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "seed": seed % 2**31,
        "verbose": -1,
        **options,
    }
    data = lightgbm.Dataset(numbers, outcomes, params=params)
    booster = lightgbm.train(params, data, num_boost_round=rounds)

    def probabilities(rows: Floats) -> Floats:
        found: Floats = booster.predict(rows, num_threads=1)
        return np.stack([1 - found, found], axis=1) if n_outcomes == 2 else found

    return probabilities


@dataclass(frozen=True, eq=False)
class ModelRule:
    """Acts by a model of the outcome on some columns."""

    model: Model
    coding: RankCoding
    columns: tuple[int, ...]
    rewards: Floats

    def action_values(self, codes: Codes) -> Floats:
        """Return the expected reward of every action."""
        values: Floats = self.model(self.coding.numbers(codes)[:, self.columns]) @ self.rewards.T
        return values


class _SetModels:
    """Models of sets of looks: cross-validated probabilities, and the final model."""

    def __init__(self, cases: PastCases, seed: int) -> None:
        self.cases, self.seed = cases, seed
        self.n_outcomes = cases.rewards.shape[1]
        self.coding = RankCoding(cases)
        self.numbers = self.coding.numbers(cases.codes)
        repetitions = 4 if cases.n_cases < SMALL else 2 if cases.n_cases < LARGE else 1
        self.folds = [fold_numbers(cases.outcomes, seed + k) for k in range(repetitions)]
        self.everything = tuple(range(len(cases.looks)))
        self._probabilities: dict[tuple[LookSet, Setting], Floats] = {}
        self._models: dict[LookSet, Model] = {}
        self.setting = min(GRID, key=lambda setting: self._log_loss(self.everything, setting))

    def _log_loss(self, looks: LookSet, setting: Setting) -> float:
        chances = self.out_of_fold(looks, setting)
        observed = chances[:, np.arange(self.cases.n_cases), self.cases.outcomes]
        return -float(np.log(observed + 1e-12).mean())

    def out_of_fold(self, looks: LookSet, setting: Setting | None = None) -> Floats:
        """Return probabilities from models that never saw the case, (repetitions, T, O)."""
        used = setting or self.setting
        if (looks, used) not in self._probabilities:
            chances = np.empty((len(self.folds), self.cases.n_cases, self.n_outcomes))
            for found, folds in zip(chances, self.folds, strict=True):
                for fold in range(int(folds.max()) + 1):
                    out = folds == fold
                    found[out] = self._fit(looks, ~out, used)(self._columns(looks)[out])
            self._probabilities[looks, used] = chances
        return self._probabilities[looks, used]

    def _columns(self, looks: LookSet) -> Floats:
        return self.numbers[:, self.cases.columns(looks)]

    def _fit(self, looks: LookSet, rows: Bools, setting: Setting) -> Model:
        leaves, rounds = setting
        size = int(rows.sum())
        return _train(
            self._columns(looks)[rows],
            self.cases.outcomes[rows],
            self.n_outcomes,
            self.seed,
            num_leaves=leaves,
            rounds=rounds,
            min_data_in_leaf=int(np.clip(size // 60, 3, 20)),
        )

    def plan(self, looks: LookSet, rewards: Floats) -> PlanTree:
        """Return the plan that buys these looks and acts by their model."""
        if looks not in self._models:
            everyone = np.ones(self.cases.n_cases, np.bool_)
            self._models[looks] = self._fit(looks, everyone, self.setting)
        columns = self.cases.columns(looks)
        rule = ModelRule(self._models[looks], self.coding, columns, rewards)
        return PlanTree(self.cases.problem, self.cases.free, Leaf(looks, rule))


class LightGBM(Method):
    """LightGBM on everything, and on the set that forward selection finds.

    Leaves and rounds are chosen by cross-validated log loss, sets by cross-validated gain.
    """

    labels = ("LightGBM, everything", "LightGBM, best fixed set")
    shares_error_costs = True
    sources = CODING

    def __init__(self) -> None:
        self._models: _SetModels | None = None

    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Choose the set for these rewards; models are kept for the next ones."""
        models = self._models = self._models or _SetModels(cases, seed)
        sets = models.everything, _forward_selection(models, cases, Prices(cases))
        plans = (models.plan(looks, cases.rewards) for looks in sets)
        return dict(zip(self.labels, plans, strict=True))


def _forward_selection(models: _SetModels, cases: PastCases, prices: Prices) -> LookSet:
    """Return the best set that adding one look at a time finds."""

    def gain(looks: LookSet) -> float:
        actions = _best_actions(models.out_of_fold(looks), cases.rewards)
        return float(cases.rewards[actions, cases.outcomes].mean()) - prices.total(looks)

    best: LookSet = ()
    current, best_gain, since = best, gain(best), 0
    candidates = list(models.everything)
    alone = sorted(candidates, key=lambda look: -gain((look,)))
    while since < PATIENCE and len(current) < len(candidates):
        wide = len(current) < WIDE_STEPS
        tried = [look for look in (alone if wide else alone[:NARROW]) if look not in current]
        if not tried:
            break
        current = max((tuple(sorted((*current, look))) for look in tried), key=gain)
        since += 1
        if gain(current) > best_gain:
            best, best_gain, since = current, gain(current), 0
    # Adding one look at a time may stop early if looks help only together.
    return max((best, models.everything), key=gain)


def _best_actions(chances: Floats, rewards: Floats) -> Integers:
    actions: Integers = (chances @ rewards.T).argmax(axis=-1)
    return actions


class _Masked:
    """One LightGBM for every set: trained on copies of the cases with random values hidden."""

    def __init__(self, cases: PastCases, seed: int) -> None:
        self.cases, self.seed = cases, seed
        self.n_outcomes, self.n_looks = cases.rewards.shape[1], len(cases.looks)
        self.coding = RankCoding(cases)
        self.ranks = self.coding(cases.codes)
        self.numbers = self.coding.numbers(cases.codes)
        self.reveals = np.zeros((self.n_looks, cases.problem.n_features), np.bool_)
        for k, look in enumerate(cases.looks):
            self.reveals[k, list(look.columns)] = True
        rng = np.random.default_rng([seed, 1])
        is_small = cases.n_cases < LARGE
        copies = 20 if is_small else 6
        everyone = np.arange(cases.n_cases)
        self.model = self._fit(everyone, copies, rng)
        self.masks = self._candidate_masks(rng)
        self.out_of_fold = self._out_of_fold(max(3, copies // 2), rng)
        size = min(MAX_REFERENCES, cases.n_cases)
        self.references: Integers = np.sort(rng.permutation(cases.n_cases)[:size])
        self.scaled = self.ranks[self.references] / self.coding.scale

    def known(self, bought: Bools) -> Bools:
        """Return the features that are known after these purchases, (n, D)."""
        known: Bools = (bought.astype(np.int64) @ self.reveals > 0) | self.cases.free
        return known

    def hidden(self, numbers: Floats, bought: Bools) -> Floats:
        """Return the numbers with NaN for what was not bought."""
        return np.where(self.known(bought), numbers, np.nan)

    def neighbours(self, ranks: Integers, known: Bools, count: int) -> Integers:
        """Return the references that are nearest in what is known of one case."""
        if not known.any():
            return np.arange(len(self.references))
        gaps = self.scaled[:, known] - ranks[known] / self.coding.scale[known]
        distances = (gaps**2).sum(axis=1)
        if count >= len(distances):
            return np.arange(len(distances))
        nearest: Integers = np.argpartition(distances, count)[:count]
        return nearest

    def _fit(self, rows: Integers, copies: int, rng: np.random.Generator) -> Model:
        tiles = np.tile(rows, copies)
        bought = rng.random((len(tiles), self.n_looks)) < rng.random((len(tiles), 1))
        bought[: len(rows)] = True
        is_small = len(rows) < LARGE
        return _train(
            self.hidden(self.numbers[tiles], bought),
            self.cases.outcomes[tiles],
            self.n_outcomes,
            self.seed,
            rounds=150,
            num_leaves=15 if is_small else 31,
            min_data_in_leaf=max(20, len(tiles) // 100) if is_small else 40,
        )

    def _candidate_masks(self, rng: np.random.Generator) -> Bools:
        fixed = [np.zeros(self.n_looks, np.bool_), np.ones(self.n_looks, np.bool_)]
        fixed += list(np.eye(self.n_looks, dtype=np.bool_))
        while len(fixed) < N_MASKS:
            size = min(self.n_looks, 1 + int(rng.geometric(0.35)))
            mask = np.zeros(self.n_looks, np.bool_)
            mask[rng.choice(self.n_looks, size, replace=False)] = True
            fixed.append(mask)
        return np.unique(np.array(fixed), axis=0)

    def _out_of_fold(self, copies: int, rng: np.random.Generator) -> Floats:
        """Return probabilities by case and mask, (T, masks, O), from models without the case."""
        folds = fold_numbers(self.cases.outcomes, self.seed, 3)
        chances = np.empty((self.cases.n_cases, len(self.masks), self.n_outcomes))
        for fold in range(3):
            out = np.flatnonzero(folds == fold)
            model = self._fit(np.flatnonzero(folds != fold), copies, rng)
            for k, mask in enumerate(self.masks):
                chances[out, k] = model(self.hidden(self.numbers[out], mask[None]))
        return chances


@dataclass(frozen=True, eq=False)
class _Stepwise:
    """Buys one look at a time, as `choose` says, and acts by the masked model."""

    masked: _Masked
    rewards: Floats
    choose: Callable[[Integers, Floats, Bools], int]
    """Returns the next look of one case from its ranks, numbers and purchases, or -1 to stop."""

    def decide(self, codes: Codes) -> Decisions:
        """Go on until every case has stopped; equal states are decided once."""
        masked = self.masked
        ranks, numbers = masked.coding(codes), masked.coding.numbers(codes)
        bought = np.zeros((len(codes), masked.n_looks), np.bool_)
        active = np.arange(len(codes))
        while len(active):
            states = np.where(masked.known(bought[active]), ranks[active], -1)
            first, kind = unique_rows(states)
            seen = active[first]
            chosen = np.array([self.choose(ranks[i], numbers[i], bought[i]) for i in seen])[kind]
            goes_on = chosen >= 0
            bought[active[goes_on], chosen[goes_on]] = True
            active = active[goes_on]
        chances = masked.model(masked.hidden(numbers, bought))
        return Decisions(_best_actions(chances, self.rewards), bought)


class MaskedBooster(Method):
    """AACO and greedy value of information, both on one masked LightGBM.

    AACO (Valancius et al. 2024) looks for the set that was best for the nearest neighbours, buys
    the cheapest look of it, and starts again. Greedy value of information buys the look whose
    expected value, with values of the nearest neighbours, exceeds its price by most.
    """

    labels = ("AACO", "greedy value of information")
    shares_error_costs = True
    sources = CODING

    def __init__(self) -> None:
        self._masked: _Masked | None = None
        self._forecasts: dict[bytes, list[tuple[Floats, Floats]]] = {}

    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Train the model in the first call; rewards and prices enter only the decisions."""
        masked = self._masked = self._masked or _Masked(cases, seed)
        prices = Prices(cases)
        deciders = (
            _Stepwise(masked, cases.rewards, self._aaco(masked, cases, prices)),
            _Stepwise(masked, cases.rewards, self._value_of_information(masked, cases, prices)),
        )
        return dict(zip(self.labels, deciders, strict=True))

    def _aaco(
        self, masked: _Masked, cases: PastCases, prices: Prices
    ) -> Callable[[Integers, Floats, Bools], int]:
        actions = (masked.out_of_fold[masked.references] @ cases.rewards.T).argmax(axis=2)
        outcomes = cases.outcomes[masked.references]
        rewards = cases.rewards[actions, outcomes[:, None]]
        costs = np.array([prices.total(np.flatnonzero(mask).tolist()) for mask in masked.masks])
        count = 20 if cases.n_cases < LARGE else 50

        def choose(ranks: Integers, numbers: Floats, bought: Bools) -> int:  # noqa: ARG001
            near = masked.neighbours(ranks, masked.known(bought[None])[0], count)
            larger = np.flatnonzero(masked.masks[:, bought].all(axis=1))
            values = rewards[np.ix_(near, larger)].mean(axis=0) - costs[larger]
            new = np.flatnonzero(masked.masks[larger[values.argmax()]] & ~bought)
            owned = frozenset(np.flatnonzero(bought).tolist())
            return int(min(new, key=lambda k: prices.marginal(int(k), owned), default=-1))

        return choose

    def _value_of_information(
        self, masked: _Masked, cases: PastCases, prices: Prices
    ) -> Callable[[Integers, Floats, Bools], int]:
        rewards = cases.rewards

        def choose(ranks: Integers, numbers: Floats, bought: Bools) -> int:
            forecasts = self._forecast(masked, ranks, numbers, bought)
            owned = frozenset(np.flatnonzero(bought).tolist())
            values = [
                float(weights @ (chances @ rewards.T).max(axis=1)) for chances, weights in forecasts
            ]
            for k, look in enumerate(np.flatnonzero(~bought), start=1):
                values[k] -= prices.marginal(int(look), owned)
            best = int(np.argmax(values))
            return -1 if best == 0 else int(np.flatnonzero(~bought)[best - 1])

        return choose

    def _forecast(
        self, masked: _Masked, ranks: Integers, numbers: Floats, bought: Bools
    ) -> list[tuple[Floats, Floats]]:
        """Return probabilities of outcomes and weights: of now, and after each look not bought."""
        known = masked.known(bought[None])[0]
        key = np.where(known, ranks, -1).tobytes()
        if key not in self._forecasts:
            near = masked.neighbours(ranks, known, VALUES_PER_LOOK)
            donors = masked.numbers[masked.references[near]]
            blocks = [np.where(known, numbers, np.nan)[None]]
            weights = [np.ones(1)]
            for look in np.flatnonzero(~bought):
                columns = masked.reveals[look] & ~known
                values, counts = np.unique(donors[:, columns], axis=0, return_counts=True)
                block = np.repeat(blocks[0], len(values), axis=0)
                block[:, columns] = values
                blocks.append(block)
                weights.append(counts / counts.sum())
            chances = masked.model(np.concatenate(blocks))
            ends = np.cumsum([len(block) for block in blocks])[:-1]
            self._forecasts[key] = list(zip(np.split(chances, ends), weights, strict=True))
        return self._forecasts[key]
