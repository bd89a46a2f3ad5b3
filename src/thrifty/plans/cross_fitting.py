"""Honest gains of growing a plan on a bank, for any price list, without fitting models again."""

from __future__ import annotations

import numpy as np

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Floats
from thrifty.plans.costs import Costs
from thrifty.plans.folds import stratified_folds
from thrifty.plans.growth import Grower
from thrifty.plans.options import Options, shortlist
from thrifty.seeds import generator

N_FOLDS = 5
SEED = 1


def cross_fitted_gains(
    bank: Bank,
    costs: Costs,
    *,
    without: int | None = None,
    one_purchase: bool = False,
    price_factor: float = 1.0,
) -> Floats:
    """Return the gain of every case if the plan is grown without the case.

    Models have not seen the case either. Only the list of sets to choose from has.

    Parameters
    ----------
    bank : Bank
        A bank that was searched.
    costs : Costs
        Prices, which may differ from those of the bank.
    without : int, optional
        A look that the plan must not use.
    one_purchase : bool
        True if a plan may buy only once per case.
    price_factor : float
        Plans are grown as if all prices were multiplied by this. Gains are at the given prices.

    Returns
    -------
    array of float, shape (T,)
        Gains in money.
    """
    assumed = costs.scaled(price_factor)
    sets = shortlist(bank, assumed, without=without)
    grower = Grower(bank, Options.from_bank(bank, assumed, sets), one_purchase)
    judge = grower
    if price_factor != 1.0:
        judge = Grower(bank, Options.from_bank(bank, costs, sets), one_purchase)
    folds = stratified_folds(bank.cases.outcomes, N_FOLDS, generator(SEED))
    gains = np.zeros(bank.cases.n_cases)
    for fold in range(N_FOLDS):
        inside = np.flatnonzero(folds == fold)
        grown = grower.grow(np.flatnonzero(folds != fold))
        gains[inside] = judge.gains(grown, inside)
    return gains
