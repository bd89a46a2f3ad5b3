"""D-LinUCB: LinUCB with discounted samples."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from thrifty.kernels.baselines import d_linucb as kernel
from thrifty.parameters import Real
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed


class DiscountedLinUCB(CompiledPolicy):
    """D-LinUCB: buy everything, use LinUCB with samples that lose weight in every round.

    The policy takes the first maximum of theta_a . x + alpha sqrt(x' V_a^-1 V~_a V_a^-1 x), as in
    Algorithm 1 of the paper. In every round, for every action, V becomes gamma V + (1 - gamma) I,
    V~ becomes gamma^2 V~ + (1 - gamma^2) I, and b becomes gamma b. The sample then adds x x' to V
    and V~ of its action, and r x to b. V and V~ start as the identity, and theta = V^-1 b. The
    constant alpha stands for the radius beta_t of the paper. The paper has one regression on
    features of actions; one regression per action is the same with a block of x for each action.
    With a discount of 1 the policy is LinUCB.

    Every matrix changes in every round, so the time per round grows with the third power of the
    size of x.

    Reference: Y. Russac, C. Vernade and O. Cappé (2019), Weighted linear bandits for non-stationary
    environments, NeurIPS.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term.
    discount : float
        Factor gamma by which samples lose weight in each round. The paper recommends
        1 - (B / (d T))^(2/3) for T rounds, d features and a total change of B; the default is this
        for 10,000 rounds, 5 features and a total change of 4.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = DiscountedLinUCB(Problem.anonymous(levels=(2,), n_actions=2), discount=0.5)
    >>> seen = Observation(codes=[0], costs=[0.1])
    >>> policy.update(seen, action=0, reward=1.0)
    >>> policy.update(seen, action=1, reward=0.0)
    >>> policy.action_values(seen).round(3).tolist()
    [0.706, 0.354]
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0), "discount": Real(0, 1), "encoding": ENCODINGS}
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"alpha": (0.1, 0.5, 1.0), "discount": (0.99, 0.995, 0.998, 0.999)}
    )

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.5,
        discount: float = 0.998,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, alpha=alpha, discount=discount, encoding=encoding)
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(problem.n_actions, float(alpha), float(discount), places, size)
