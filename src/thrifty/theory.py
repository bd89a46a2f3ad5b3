"""The paper's confidence radii, and the regret bounds of its theorems with all constants.

The page "The theorems" derives the constants, and explains where they differ from the paper.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from thrifty.parameters import Real, Whole, check_parameter
from thrifty.problem import Problem


@dataclass(frozen=True)
class Setting:
    """The quantities on which radii and bounds depend.

    Parameters
    ----------
    problem : Problem
        Its numbers of features, levels and actions count.
    horizon : int
        Number of rounds, T.
    window : int
        Length of the window in rounds, w.
    delta : float
        Error probability, between 0 and 1.

    Examples
    --------
    >>> setting = Setting(Problem.anonymous((2, 3), 2), horizon=1000, window=100, delta=0.05)
    >>> round(setting.reward_radius(400), 3), round(setting.cost_radius(400), 3)
    (0.21, 0.276)
    """

    problem: Problem
    horizon: int
    window: int
    delta: float

    def __post_init__(self) -> None:
        for name, allowed in (
            ("horizon", Whole(1)),
            ("window", Whole(1)),
            ("delta", Real(0, 1, open=True)),
        ):
            check_parameter(name, getattr(self, name), allowed, owner="Setting")

    @property
    def reward_log(self) -> float:
        """The logarithm log(T A Psi_tot w / delta)."""
        return (
            math.log(self.horizon)
            + math.log(self.problem.n_actions * self.window / self.delta)
            + self.problem.log_psi_tot
        )

    @property
    def cost_log(self) -> float:
        """The logarithm log(T D w / delta)."""
        return math.log(self.horizon) + math.log(self.problem.n_features * self.window / self.delta)

    @property
    def probability_log(self) -> float:
        """The logarithm log(2 T |P(D)| / delta)."""
        return math.log(2 * self.horizon / self.delta) + self.problem.n_features * math.log(2)

    def reward_radius(self, count: int) -> float:
        """Return C(a, psi; w) = min{1, sqrt(log(T A Psi_tot w / delta) / N)}.

        Parameters
        ----------
        count : int
            Number of observations; N = max{1, count}.

        Returns
        -------
        float
            Confidence radius of a mean reward.
        """
        return min(1.0, math.sqrt(self.reward_log / max(1, count)))

    def cost_radius(self, count: int, *, most: float = 1.0) -> float:
        """Return C(i; w) = min{1, sqrt(2 log(T D w / delta) / N)}.

        Parameters
        ----------
        count : int
            Number of observations; N = max{1, count}.
        most : float
            Upper limit of the radius.

        Returns
        -------
        float
            Confidence radius of a mean cost.
        """
        return min(most, math.sqrt(2 * self.cost_log / max(1, count)))

    def probability_radius(self, count: int, *, most: float = 1.0) -> float:
        """Return C(I) = min{1, sqrt(2 Psi_tot log(2 T |P(D)| / delta) / N)}.

        Parameters
        ----------
        count : int
            Number of observations; N = max{1, count}.
        most : float
            Upper limit of the radius. Lemma 3 needs 2, the largest L1 distance between two
            distributions.

        Returns
        -------
        float
            Confidence radius of the state probabilities, in L1 distance.
        """
        logarithm = self.problem.log_psi_tot + math.log(2 * self.probability_log / max(1, count))
        return min(most, math.exp(min(0.5 * logarithm, 350.0)))


@dataclass(frozen=True)
class Bound:
    """A bound on the expected regret, term by term; it holds with probability 1 - 4 delta.

    Parameters
    ----------
    changes : float
        Term of the change points.
    probabilities : float
        Term of the estimated state probabilities.
    martingale : float
        Term of the deviations from conditional means.
    rewards : float
        Term of the estimated mean rewards.
    costs : float
        Term of the estimated mean costs.
    """

    changes: float
    probabilities: float
    martingale: float
    rewards: float
    costs: float

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return math.fsum(astuple(self))


def regret_bound(setting: Setting, *, changes: int = 0) -> Bound:
    """Return the bound of Theorem 1 or, with `changes` > 0, of Theorem 2.

    Parameters
    ----------
    setting : Setting
        Problem, horizon, window and delta.
    changes : int
        Number of change points.

    Returns
    -------
    Bound
        The bound with all constants, term by term.

    Examples
    --------
    >>> problem = Problem.anonymous((2,), 2)
    >>> setting = Setting(problem, horizon=10**6, window=10**6, delta=0.05)
    >>> bound = regret_bound(setting)
    >>> bound.total / setting.horizon < 1
    True
    """
    check_parameter("changes", changes, Whole(0), owner="regret_bound")
    problem, horizon, window = setting.problem, setting.horizon, setting.window
    n, periods = problem.n_features, horizon / window + changes + 1
    psi_tot = math.exp(min(problem.log_psi_tot, 700.0))
    return Bound(
        changes=float((1 + n) * window * changes),
        probabilities=4 * math.sqrt(2 * psi_tot * setting.probability_log * 2.0**n * horizon),
        martingale=4 * (1 + n) * math.sqrt(horizon * math.log(1 / setting.delta) / 2),
        rewards=4 * periods * math.sqrt(setting.reward_log * problem.n_actions * psi_tot * window),
        costs=4 * periods * n * math.sqrt(2 * setting.cost_log * window),
    )


def recommended_window(horizon: int, changes: int) -> int:
    """Return the window that the theorems recommend.

    Parameters
    ----------
    horizon : int
        Number of rounds, T.
    changes : int
        Number of change points.

    Returns
    -------
    int
        T without changes, otherwise (T / changes)^(2/3), rounded.

    Examples
    --------
    >>> recommended_window(10_000, 0), recommended_window(10_000, 7)
    (10000, 127)
    """
    check_parameter("horizon", horizon, Whole(1), owner="recommended_window")
    check_parameter("changes", changes, Whole(0), owner="recommended_window")
    return horizon if changes == 0 else max(1, round((horizon / changes) ** (2 / 3)))
