"""The one loop."""

from typing import Any

import numpy as np
import pytest

from thrifty.environments import Replay, World
from thrifty.errors import InvalidParameter
from thrifty.playing import number_of_rounds, play
from thrifty.policies import UCB1, LinUCB, SimOOS
from thrifty.policy import Policy
from thrifty.problem import Bundle, Group, PriceList, Problem
from thrifty.rounds import Observation, Purchase
from thrifty.simulation import simulate

TABLE = Replay(
    contexts=[[0, 1], [1, 0], [1, 1]],
    rewards=[[1.0, 0.0], [0.5, 1.0], [0.0, 0.25]],
    costs=[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]],
)


class Scripted(Policy):
    """Buys and does what the script says, and writes down what it is told."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.masks = iter([[True, False], [False, False], [True, True]])
        self.actions = iter([0, 1, 1])
        self.told: list[tuple[list[int], int, int, float]] = []

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(next(self.masks), purpose=len(self.told) + 7)

    def _choose_action(self, observation: Observation, available: Any) -> int:
        assert available.all()
        assert observation.purpose == len(self.told) + 7
        return next(self.actions)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        self.told.append((observation.codes.tolist(), observation.purpose, action, reward))


def test_three_rounds_by_hand() -> None:
    policy = Scripted(TABLE.problem)
    run = play(policy, TABLE)
    assert run.observed.tolist() == [[True, False], [False, False], [True, True]]
    assert run.actions.tolist() == [0, 1, 1]
    assert run.rewards.tolist() == [1.0, 1.0, 0.25]
    assert run.costs.tolist() == [0.1, 0.0, 0.5 + 0.6]
    np.testing.assert_allclose(run.gains, [0.9, 1.0, -0.85])
    assert policy.told == [([0, -1], 7, 0, 1.0), ([-1, -1], 8, 1, 1.0), ([1, 1], 9, 1, 0.25)]
    assert policy.rounds == 3


def test_playing_starts_at_the_first_round_and_with_what_the_policy_knows() -> None:
    policy = UCB1(TABLE.problem)
    first, second = play(policy, TABLE, rounds=2), play(policy, TABLE)
    assert (first.rounds, second.rounds, policy.rounds) == (2, 3, 5)


def test_a_world_that_is_drawn_is_played_again_as_it_was() -> None:
    world = World.random(levels=(2, 2), n_actions=2, rounds=30, seed=1)
    one, other = (play(LinUCB(world.problem), world) for _ in range(2))
    np.testing.assert_array_equal(one.rewards, other.rewards)
    np.testing.assert_array_equal(one.costs, other.costs)


def test_sim_oos_is_told_each_rounds_prices_before_it_buys() -> None:
    policy = SimOOS(TABLE.problem)
    for rounds in (1, 2, 3):
        play(policy, TABLE, rounds=rounds)
        assert policy.get_state()["prices"].tolist() == TABLE.costs[rounds - 1].tolist()


@pytest.mark.parametrize("rounds", [0, -1, 4, 2.0, True, "2"])
def test_rounds_that_cannot_be_played_are_refused(rounds: Any) -> None:
    policy = UCB1(TABLE.problem)
    with pytest.raises(InvalidParameter, match="rounds"):
        play(policy, TABLE, rounds=rounds)
    assert policy.rounds == 0


def test_the_number_of_rounds_is_the_environments_own_by_default() -> None:
    assert number_of_rounds(TABLE, None) == 3
    assert number_of_rounds(TABLE, 2) == 2


class InSteps(Policy):
    """Buys the first feature, the second only where the first is 1, then acts by what it saw."""

    stepwise = True

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase([True, known.codes[0] == 1], purpose=int(known.mask.sum()))

    def _choose_action(self, observation: Observation, available: Any) -> int:
        return int(observation.codes.max())

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        assert observation.purpose == observation.mask.sum(), "the purpose of the last step"


def test_a_policy_may_buy_see_and_buy_again() -> None:
    run = play(InSteps(TABLE.problem), TABLE)
    assert run.observed.tolist() == [[True, False], [True, True], [True, True]]
    assert run.actions.tolist() == [0, 1, 1]
    assert run.costs.tolist() == [0.1, 0.3 + 0.4, 0.5 + 0.6]
    runs = simulate(InSteps, TABLE, seeds=[0, 1])
    for one in runs:
        np.testing.assert_array_equal(one.observed, run.observed)
        np.testing.assert_array_equal(one.costs, run.costs)


def test_free_values_are_known_and_cost_nothing() -> None:
    world = Replay(TABLE.contexts, TABLE.rewards, TABLE.costs, free=[True, False])
    for run in (play(LinUCB(world.problem), world), simulate("linucb", world, seeds=[0])[0]):
        assert run.observed.tolist() == [[False, True]] * 3
        assert run.costs.tolist() == [0.2, 0.4, 0.6]
    stepwise = play(InSteps(world.problem), world)
    assert stepwise.observed.tolist() == [[False, False], [False, True], [False, True]]


def test_a_group_pays_its_fee_once_and_a_bundle_comes_whole() -> None:
    prices = PriceList(groups=[Group("g", ("x1", "x2"), setup=1.0)])
    problem = Problem(TABLE.problem.features, TABLE.problem.actions, prices=prices)
    world = Replay(TABLE.contexts, TABLE.rewards, TABLE.costs, problem=problem)
    run = play(InSteps(problem), world)
    np.testing.assert_allclose(run.costs, [1.1, 1.7, 2.1])
    together = PriceList(bundles=[Bundle("b", ("x1", "x2"))])
    problem = Problem(TABLE.problem.features, TABLE.problem.actions, prices=together)
    world = Replay(TABLE.contexts, TABLE.rewards, TABLE.costs, problem=problem)
    assert play(InSteps(problem), world).observed.all()


def test_outcomes_reach_the_policy() -> None:
    class Notes(InSteps):
        def __init__(self, problem: Problem) -> None:
            super().__init__(problem)
            self.outcomes: list[int | None] = []

        def _update(
            self, observation: Observation, action: int, reward: float, outcome: int | None
        ) -> None:
            self.outcomes.append(outcome)

    table = {"a1": {"good": 1.0, "bad": 0.0}, "a2": 0.5}
    problem = Problem(TABLE.problem.features, TABLE.problem.actions, outcomes=table)
    world = Replay(TABLE.contexts, TABLE.rewards, TABLE.costs, outcomes=[1, 0, 1], problem=problem)
    policy = Notes(problem)
    play(policy, world)
    assert policy.outcomes == [1, 0, 1]
