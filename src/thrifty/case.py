"""The case that `ask` and `observe` return: what to buy now, or which action to take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """The next step of a case: features to buy, or the action to take.

    `Agent`, `Client` and `AsyncClient` return the same class. Their methods accept a case or its
    id.

    Parameters
    ----------
    id : int or str
        Identifies the case in later calls.
    buy : tuple of str
        Names of the features to buy now. Empty once there is an action.
    action : str or None
        The action to take. None as long as there is something to buy.
    expected_price : float or None
        Expected price of `buy`, in `unit`. None if a price is not known.
    unit : str
        Currency of prices and rewards.
    deadline : str or None
        Time until which a service accepts the reward, as ISO 8601.

    Examples
    --------
    >>> case = Case(id=1, buy=("income",), expected_price=3.5)
    >>> case.buy, case.action
    (('income',), None)
    """

    id: int | str
    buy: tuple[str, ...] = ()
    action: str | None = None
    expected_price: float | None = None
    unit: str = ""
    deadline: str | None = None
