"""What a target pays in logged cases: list prices, or what was paid in the log."""

from __future__ import annotations

import numpy as np

from thrifty.errors import InvalidParameter
from thrifty.evaluation.logged_cases import Bools, Floats, LoggedCases, set_numbers
from thrifty.evaluation.targets import Followed
from thrifty.prices import PriceList

LIST, PAID = "list", "paid"
COSTS = (LIST, PAID)
"""Where the costs of the target come from."""
NOTICEABLE = 0.02
"""A mean paid cost that differs from the list price by more than this share is mentioned."""


def target_costs(
    log: LoggedCases, followed: Followed, prices: PriceList | None, source: str | None = None
) -> tuple[Floats, str, tuple[str, ...]]:
    """Return what the target pays in the cases that show what it buys; 0 in the others.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    followed : Followed
        What the target buys in them.
    prices : PriceList, optional
        List prices.
    source : str, optional
        `list` or `paid`. By default list prices if everything that the target buys has one.

    Returns
    -------
    costs : array of float, shape (n,)
        Costs in money.
    source : str
        Where they come from.
    notes : tuple of str
        What a reader should know about them.

    Raises
    ------
    InvalidParameter
        If the costs are not known.
    """
    listed = _listed(log, followed, prices or PriceList())
    if source == LIST and listed is None:
        raise InvalidParameter(
            "the target buys a feature without a list price, so its costs are not known from the "
            "list: add the price, or use --costs paid."
        )
    if source == LIST or (source is None and listed is not None):
        assert listed is not None
        return listed, LIST, _differences(log, prices or PriceList())
    _require_no_fees(prices)
    paid = np.where(followed.bought, log.costs, 0.0).sum(axis=1)
    return np.where(followed.shown, paid, 0.0), PAID, ()


def _listed(log: LoggedCases, followed: Followed, prices: PriceList) -> Floats | None:
    costs = np.zeros(log.n_cases)
    rows = np.flatnonzero(followed.shown)
    for mask, members in by_set(followed.bought[rows]):
        names = [log.problem.feature_names[i] for i in np.flatnonzero(mask)]
        total = prices.total(names)
        if total is None:
            return None
        costs[rows[members]] = total
    return costs


def by_set(masks: Bools) -> list[tuple[Bools, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Return each distinct row of a table of flags, with the positions of its rows.

    Parameters
    ----------
    masks : array of bool, shape (n, D)
        The rows.

    Returns
    -------
    list of pair
        The row, and where it occurs.

    Examples
    --------
    >>> [(mask.tolist(), rows.tolist()) for mask, rows in by_set(np.array([[True], [False]]))]
    [([False], [1]), ([True], [0])]
    """
    numbers = set_numbers(masks)
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    return [(masks[rows[0]], rows) for rows in np.split(order, starts[1:]) if rows.size]


def _require_no_fees(prices: PriceList | None) -> None:
    fees = [] if prices is None else [group.name for group in prices.groups if group.setup > 0]
    if fees:
        raise InvalidParameter(
            f"group {fees[0]!r} has a setup fee, which is part of the cost of the first of "
            "its features that was bought, so what the target would have paid does not follow from "
            "paid costs: use --costs list."
        )


def _differences(log: LoggedCases, prices: PriceList) -> tuple[str, ...]:
    """Return notes about features that cost something else than the list says."""
    notes = []
    for i, name in enumerate(log.problem.feature_names):
        price, rows = prices.prices.get(name), log.bought[:, i]
        if price is None or name in prices.shared or not rows.any():
            continue
        paid = float(log.costs[rows, i].mean())
        if abs(paid - price) > NOTICEABLE * max(price, 1e-12):
            notes.append(
                f"{name!r} has the list price {price:g}, but {paid:g} was paid on average; the "
                "target is charged list prices, unless you choose --costs paid"
            )
    return tuple(notes)
