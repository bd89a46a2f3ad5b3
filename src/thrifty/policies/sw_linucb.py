"""SW-LinUCB: LinUCB on a sliding window."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from thrifty.kernels.baselines import sw_linucb as kernel
from thrifty.parameters import LENGTH, Real
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed


class SWLinUCB(CompiledPolicy):
    """Sliding-window LinUCB: buy everything, use LinUCB on the samples of the last rounds.

    The policy takes the first maximum of theta_a . x + alpha sqrt(x' A_a^-1 x), where A_a is the
    identity plus the sum of x x', and b_a the sum of r x, over the rounds with action a among the
    last w rounds (SW-UCB, Algorithm 1 of the paper). theta = A^-1 b. The constant alpha stands for
    the radius of the paper. The paper has one regression on features of actions; one regression per
    action is the same with a block of x for each action. With a window as long as the run the
    policy is LinUCB.

    Reference: W. C. Cheung, D. Simchi-Levi and R. Zhu (2019), Learning to optimize under
    non-stationarity, AISTATS.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term.
    window : int
        Number of rounds remembered, w. The paper recommends (d T / B)^(2/3) for T rounds, d
        features and a total change of B; the default is this for 10,000 rounds, 5 features and a
        total change of 4.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = SWLinUCB(Problem.anonymous(levels=(2,), n_actions=2), alpha=1.0, window=2)
    >>> seen = Observation(codes=[1], costs=[0.1])
    >>> for action in (0, 1, 1):
    ...     policy.update(seen, action=action, reward=1.0)
    >>> policy.action_values(seen).round(3).tolist()
    [2.0, 1.556]
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0), "window": LENGTH, "encoding": ENCODINGS}
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"alpha": (0.1, 0.5, 1.0), "window": (100, 250, 539, 1000)}
    )

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.5,
        window: int = 539,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, alpha=alpha, window=window, encoding=encoding)
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(
            problem.n_actions, problem.n_features, float(alpha), window, places, size
        )
