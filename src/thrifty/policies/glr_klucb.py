"""GLR-klUCB: kl-UCB with a likelihood ratio test for changes."""

from __future__ import annotations

import math

from thrifty.kernels.baselines import glr_klucb as kernel
from thrifty.parameters import LENGTH, Choice, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class GLRKLUCB(CompiledPolicy):
    """GLR-klUCB: buy nothing, forget rewards when a likelihood ratio test sees a change.

    The policy takes each of the K actions in turn once in floor(K / alpha) rounds, and otherwise
    the first maximum of the index of kl-UCB: the largest q with N_a kl(X_a, q) <= log(t_a). X_a and
    N_a are the mean and the number of the action's rewards since its last restart, and t_a is the
    round since then. An action without rewards comes first. A change is detected when the statistic
    of the Bernoulli test, the largest value over splits s of the n = N_a rewards of

        s kl(mean of the first s, X_a) + (n - s) kl(mean of the others, X_a),

    is above log(n^(3/2) / delta). After k restarts alpha is sqrt(k + 1) times its first value. This
    is Algorithm 1 of Besson, Kaufmann, Maillard and Seznec (2022), "Efficient Change-Point
    Detection for Tackling Piecewise-Stationary Bandits", JMLR, with the threshold and the index of
    its experiments. To save time, these test in every tenth round only; here an action is tested
    after every tenth of its rewards, at splits that are ten rewards apart. When it has more than
    2560 rewards the splits become coarser, so that memory is bounded.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T, for the first value of alpha and the default of `delta`.
    restart : str
        "local": only the action whose rewards changed restarts. "global": all actions do.
    exploration : float
        Factor of the first value of alpha, which is sqrt(K log(T) / T), the paper's choice if the
        number of changes is not known. 0 for no turns.
    delta : float, optional
        Rate of false alarms of a test. The default is the paper's choice, 1 / sqrt(T).
    every : int
        Number of rewards between two tests, and between two splits.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> policy = GLRKLUCB(problem, delta=0.5, every=1)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> for reward in (0.0, 0.0, 0.0, 1.0, 1.0):  # the statistic is 3.37, the threshold 3.11
    ...     policy.update(nothing, action=0, reward=reward)
    >>> policy.restarts
    1
    """

    random_purchases = random_actions = False
    allowed = {
        "horizon": Whole(1),
        "restart": Choice("local", "global"),
        "exploration": Real(0),
        "delta": Optional(Real(0, 1, open=True)),
        "every": LENGTH,
    }
    grid = {"restart": ("local", "global"), "exploration": (0.1, 0.3, 1.0)}
    _state: kernel.GLRKLUCBState

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        restart: str = "local",
        exploration: float = 1.0,
        delta: float | None = None,
        every: int = 10,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            restart=restart,
            exploration=exploration,
            delta=delta,
            every=every,
        )
        n = problem.n_actions
        self._state = kernel.initial(
            n,
            exploration=exploration * math.sqrt(n * math.log(horizon) / horizon),
            delta=1 / math.sqrt(horizon) if delta is None else float(delta),
            every=every,
            everywhere=restart == "global",
        )

    @property
    def restarts(self) -> int:
        """Number of changes detected so far."""
        return int(self._state.restarts[0])
