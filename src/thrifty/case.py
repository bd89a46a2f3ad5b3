"""A case as its owner sees it: what to buy now, or what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """What to do next in a case: buy something, or take the action.

    The same for `Agent`, `Client` and `AsyncClient`. Their methods take a case or its id.

    Parameters
    ----------
    id : int or str
        Names the case in later calls.
    buy : tuple of str
        Names of the features to buy now. Empty once there is an action.
    action : str or None
        The action to take, as soon as nothing more is to be bought.
    expected_price : float or None
        What `buy` is expected to cost, in `unit`; None if a price is not known.
    unit : str
        The currency of prices and rewards.
    deadline : str or None
        Until when a reward counts, in a service.

    Examples
    --------
    >>> Case(id=1, buy=("income",)).action is None
    True
    """

    id: int | str
    buy: tuple[str, ...] = ()
    action: str | None = None
    expected_price: float | None = None
    unit: str = ""
    deadline: str | None = None
