"""Probabilities of purchases and actions, first those that can be checked by hand."""

from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from surveyor_cases import LENDING, SCREENING, drawn_cases
from thrifty import (
    POLICIES,
    Agent,
    Bundle,
    Feature,
    Observation,
    Policy,
    PriceList,
    Problem,
    Purchase,
    play,
    simulate,
)
from thrifty.checks.frequencies import chi_square_tail, compare_frequencies
from thrifty.checks.policies import (
    asking_for_propensities_changes_nothing,
    propensities_are_frequencies,
)
from thrifty.checks.subject import Subject
from thrifty.checks.tables import RoundTables, ask, play_rounds
from thrifty.environments import Replay, nursery
from thrifty.environments.safe_families import winter
from thrifty.kernels.scout.steps import KINDS, RECALL
from thrifty.policies import EpsilonGreedy, Scout, Surveyor, Uniform
from thrifty.propensities import Propensity

SMALL = Problem.anonymous(levels=(2, 3, 2), n_actions=3)
FALSE_ALARM = 1e-4
"""Probability with which each comparison of frequencies here fails without a mistake."""


def chances(policy: Policy, seen: Observation, **more: Any) -> list[float]:
    found = [policy.propensity(seen, a, **more) for a in range(policy.problem.n_actions)]
    return [propensity.probability for propensity in found if propensity is not None]


def probability(policy: Policy, known: Observation, choice: Any, **more: Any) -> float:
    found = policy.propensity(known, choice, **more)
    assert found is not None
    return found.probability


def test_uniform() -> None:
    policy, nothing = Uniform(SMALL), Observation.nothing(SMALL)
    assert chances(policy, nothing) == pytest.approx([1 / 3] * 3)
    assert chances(policy, nothing, available=[True, False, True]) == [0.5, 0.0, 0.5]
    assert policy.propensity(nothing, [False] * 3) == Propensity.certain(0)
    assert probability(policy, nothing, [True, False, False]) == 0.0


def test_epsilon_greedy() -> None:
    policy, nothing = EpsilonGreedy(SMALL, epsilon=0.3), Observation.nothing(SMALL)
    policy.update(nothing, action=1, reward=1.0)
    assert chances(policy, nothing) == pytest.approx([0.1, 0.8, 0.1])
    assert chances(policy, nothing, available=[True, False, True]) == pytest.approx([0.85, 0, 0.15])


class TwoNotes(Policy):
    """Buys x1 with note 1 or 2, a quarter of the time each, and acts by the note."""

    FIRST: ClassVar = {1: 0.9, 2: 0.1, 3: 0.5}
    """Probability of action 0 for each note."""

    def _choose_features(self, known: Observation) -> Purchase:
        note = 1 + int(self.rng.choice(3, p=[0.25, 0.25, 0.5]))
        return Purchase([note < 3, False, False], purpose=note)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        is_first = self.rng.random() < self.FIRST[observation.purpose]
        return 0 if is_first and available[0] else int(available[1:].argmax()) + 1

    def _update(self, observation: Any, action: int, reward: float, outcome: Any) -> None:
        self.FIRST = {1: 0.5, 2: 0.5, 3: 0.5}  # type: ignore[misc]


class TwoNotesStated(TwoNotes):
    def _purchase_probabilities(self, known: Observation, mask: NDArray[np.bool_]) -> Any:
        shares = {1: 0.25, 2: 0.25, 3: 0.5}
        return [(Purchase([note < 3, False, False], note), p) for note, p in shares.items()]

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        first = self.FIRST[observation.purpose] if available[0] else 0.0
        second = int(available[1:].argmax()) + 1
        return np.where(np.arange(3) == second, 1 - first, np.array([first, 0.0, 0.0]))


SEEN = Observation([1, -1, -1], [0.1, np.nan, np.nan], purpose=1)


def test_notes_are_summed_out() -> None:
    policy, nothing = TwoNotesStated(SMALL), Observation.nothing(SMALL)
    bought = policy.propensity(nothing, [True, False, False])
    assert bought is not None
    assert (bought.probability, dict(bought.notes)) == (0.5, {1: 0.5, 2: 0.5})
    assert chances(policy, SEEN, notes=bought.notes) == [0.5, 0.5, 0.0]
    assert chances(policy, SEEN) == [0.9, 1 - 0.9, 0.0]  # if the note is known


def test_the_notes_of_an_earlier_decision_count_after_learning() -> None:
    policy = TwoNotesStated(SMALL)
    bought = policy.propensity(Observation.nothing(SMALL), [True, False, False])
    policy.update(SEEN, 0, 1.0)
    assert bought is not None
    assert chances(policy, SEEN, notes=bought.notes) == [0.5, 0.5, 0.0]


def test_after_an_impossible_purchase_everything_is_impossible() -> None:
    policy = TwoNotesStated(SMALL)
    bought = policy.propensity(Observation.nothing(SMALL), [False, True, False])
    assert bought is not None
    assert (bought.probability, dict(bought.notes)) == (0.0, {})
    assert chances(policy, SEEN, notes=bought.notes) == [0.0, 0.0, 0.0]


def test_a_policy_that_states_nothing_is_estimated() -> None:
    policy, nothing = TwoNotes(SMALL, seed=1), Observation.nothing(SMALL)
    before = policy.rng.bit_generator.state
    bought = policy.propensity(nothing, [True, False, False])
    assert bought is not None
    assert bought.error == pytest.approx(0.05, rel=0.01)  # sqrt(1 / 4 / 100)
    assert abs(bought.probability - 0.5) < 5 * bought.error
    acted = policy.propensity(SEEN, 0, notes=bought.notes)
    assert acted is not None
    assert abs(acted.probability - 0.5) < 5 * (acted.error + bought.error)
    assert policy.rng.bit_generator.state == before
    assert policy.propensity(nothing, [True, False, False]) == bought  # a function of the case
    assert policy.propensity(nothing, [True, False, False], seed="another") != bought


def test_a_policy_that_cannot_be_repeated_says_nothing() -> None:
    class Counts(TwoNotes):
        repeatable = False

    policy = Counts(SMALL)
    assert policy.propensity(Observation.nothing(SMALL), [True, False, False]) is None
    assert policy.propensity(SEEN, 0) is None


def test_a_decision_without_random_numbers_is_certain() -> None:
    class First(TwoNotes):
        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase([True, True, False])

    found = First(SMALL).propensity(Observation.nothing(SMALL), [True, True, False])
    assert found == Propensity.certain(0)


def trained(name: str, problem: Problem, rounds: int, **parameters: Any) -> tuple[Policy, Any]:
    tables = RoundTables.draw(problem, 200, 1)
    more = {"horizon": 1000} if name.startswith(("ncc", "surveyor")) else {}
    policy = POLICIES[name](problem, seed=1, **more, **parameters)
    play_rounds(policy, tables, range(rounds))
    ask(policy, tables)
    return policy, tables


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"oracle", "plan"}))
@pytest.mark.parametrize("rounds", [0, 35])
def test_all_choices_add_up_to_1(name: str, rounds: int) -> None:
    policy, tables = trained(name, SMALL, rounds)
    for free in ((), (1,)):
        known = tables.known(3, free)
        found = [
            policy.propensity(known, Purchase(mask)) for mask in product([False, True], repeat=3)
        ]
        total = sum(propensity.probability for propensity in found if propensity is not None)
        assert total == pytest.approx(1, abs=1e-12)
        seen = tables.observe(3, policy.choose_features(known), known)
        for available in (None, [False, True, True]):
            shares = chances(policy, seen, available=available)
            assert sum(shares) == pytest.approx(1, abs=1e-6)
            assert available is None or shares[0] == 0.0


@pytest.mark.parametrize("name", ["scout", "ncc-ucrl2", "sim-oos", "epsilon-greedy"])
def test_runs_are_the_same_with_probabilities(name: str) -> None:
    plain = simulate(name, nursery.shuffled, seeds=[0, 1], rounds=150)
    asked = simulate(name, nursery.shuffled, seeds=[0, 1], rounds=150, propensities=True)
    for field in ("observed", "actions", "rewards", "costs"):
        assert np.array_equal(getattr(plain, field), getattr(asked, field))
    assert plain.propensities is None
    assert plain[0].propensities is None
    assert asked.propensities is not None
    assert asked.propensities.actions.shape == (2, 150)
    one = asked[1].propensities
    assert one is not None
    assert np.array_equal(one.actions, asked.propensities.actions[1])
    assert (one.actions > 0).all()
    assert (one.purchases > 0).all()


def test_play_multiplies_the_steps() -> None:
    replay = Replay([[0, 0], [1, 1]] * 3, [[0.0, 1.0]] * 6, [[0.1, 0.1]] * 6)

    class InSteps(Policy):
        """Buys x1 with probability 1/2, then x2 with probability 1/4, then stops."""

        stepwise = True

        def _choose_features(self, known: Observation) -> Purchase:
            if known.settled.any():
                wanted = [False, not known.settled[1] and self.rng.random() < 0.25]
                return Purchase(wanted if known.settled[0] else [False, False])
            return Purchase([self.rng.random() < 0.5, False])

        def _purchase_probabilities(self, known: Observation, mask: NDArray[np.bool_]) -> Any:
            nothing = Purchase([False, False])
            if not known.settled.any():
                return [(Purchase([True, False]), 0.5), (nothing, 0.5)]
            if known.settled[1]:
                return [(nothing, 1.0)]
            return [(Purchase([False, True]), 0.25), (nothing, 0.75)]

        def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
            return 0

        def _update(self, observation: Any, action: int, reward: float, outcome: Any) -> None:
            pass

    run = play(InSteps(replay.problem, seed=1), replay, propensities=True)
    assert run.propensities is not None
    expected = {0: 0.5, 1: 0.5 * 0.75, 2: 0.5 * 0.25}
    wanted = [expected[int(number)] for number in run.observed.sum(axis=1)]
    assert run.propensities.purchases.tolist() == wanted
    assert run.propensities.actions.tolist() == [1.0] * 6


def compared(policy: Policy, tables: Any, free: tuple[int, ...] = (), n: int = 4_000) -> float:
    def reveal(purchase: Purchase, known: Observation) -> Observation:
        seen: Observation = tables.observe(2, purchase, known)
        return seen

    found = compare_frequencies(policy, tables.known(2, free), reveal, n)
    assert found is not None
    assert not found.surprise
    assert found.n_cells > 1
    return found.p_value


SOLD_TOGETHER = Problem(
    [Feature(name, ("no", "yes")) for name in ("one", "two", "three", "four")],
    ["stay", "go"],
    prices=PriceList({"one": 0.05, "four": 0.05}, bundles=[Bundle("both", ("two", "three"), 0.1)]),
)


@pytest.mark.parametrize("problem", [SMALL, SOLD_TOGETHER], ids=["alone", "bundles"])
@pytest.mark.parametrize("limits", [{}, {"max_features": 2}, {"budget": 0.05}], ids=str)
@pytest.mark.parametrize("free", [(), (0,)], ids=str)
def test_frequencies_of_scout(
    problem: Problem, limits: dict[str, Any], free: tuple[int, ...]
) -> None:
    policy, tables = trained("scout", problem, 60, **limits)
    assert compared(policy, tables, free) > FALSE_ALARM


def test_frequencies_of_scout_that_recalls_a_former_regime() -> None:
    replay = winter(4, turns=2, rounds=2_400).draw(2)
    policy, found = Scout(replay.problem, seed=2), 0
    tables = RoundTables.draw(replay.problem, 5, 1)
    for t in range(2_400):
        purchase = policy.choose_features()
        if purchase.purpose % KINDS == RECALL and found < 2:
            found += 1
            assert compared(policy, tables) > FALSE_ALARM
        mask = purchase.mask
        seen = Observation(
            np.where(mask, replay.contexts[t], -1),
            np.where(mask, replay.costs[t], np.nan),
            purchase.purpose,
        )
        action = policy.choose_action(seen)
        policy.update(seen, action, float(replay.rewards[t, action]))
    assert found == 2


@pytest.mark.parametrize("problem", [LENDING, SCREENING], ids=["hidden", "told"])
def test_frequencies_of_surveyor(problem: Problem) -> None:
    past = drawn_cases(problem, 300, 1)
    policy = Surveyor(problem, history=past, horizon=2_000, seed=1)
    policy._exploration.is_first = False  # explore at a rate between 0 and 1
    tables = RoundTables.draw(problem, 5, 1)
    assert 0 < policy.exploring_rate < 1
    assert compared(policy, tables) > FALSE_ALARM


@pytest.mark.parametrize("budget", [0.003, 0.02])
def test_frequencies_of_surveyor_with_a_budget(budget: float) -> None:
    policy = Surveyor(
        SCREENING, history=drawn_cases(SCREENING, 300, 1), horizon=2_000, budget=budget, seed=1
    )
    assert compared(policy, RoundTables.draw(SCREENING, 5, 1)) > FALSE_ALARM


def test_an_agent_records_probabilities() -> None:
    agent = Agent(SMALL, TwoNotesStated, seed=3)
    case = agent.ask()
    while case.buy:
        case = agent.observe(case, dict.fromkeys(case.buy, "1"), dict.fromkeys(case.buy, 0.1))
    told = agent.explain(case)
    assert told["steps"][0]["propensity"]["probability"] == 0.5
    assert told["action_propensity"]["probability"] == 0.5
    assert told["action_propensity"]["words"].endswith("of 50%, given what was known.")
    assert told["stop_propensity"] is None


def test_an_agent_keeps_notes_when_it_is_saved(tmp_path: Any) -> None:
    agent = Agent(SMALL, "scout", seed=1)
    case = agent.ask()
    assert case.buy
    agent.save(tmp_path / "agent.npz")
    again = Agent.load(tmp_path / "agent.npz")
    told = []
    for player in (agent, again):
        acted = player.observe(case.id, dict.fromkeys(case.buy, "1"), dict.fromkeys(case.buy, 0.1))
        told.append(player.explain(acted))
    assert told[0] == told[1]
    assert told[0]["action_propensity"]["probability"] > 0


def test_an_agent_need_not_record_probabilities() -> None:
    agent = Agent(SMALL, "uniform", seed=1, propensities=False)
    told = agent.explain(agent.ask())
    assert told["action_propensity"] is None
    assert told["steps"][0]["propensity"] is None


def stated_exactness() -> dict[str, tuple[str, str]]:
    """Return how exact purchases and actions are by name of the policy, as the page says."""
    page = Path(__file__).parents[2] / "docs" / "propensities.md"
    _, table = page.read_text(encoding="utf-8").split("## How exact they are")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {name: (row[1], row[2]) for row in rows[1:] for name in row[0].split(", ")}


def test_the_page_names_every_policy() -> None:
    assert set(stated_exactness()) == {*POLICIES, "your own policy"}


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"oracle", "plan", "auto", "scout"}))
def test_probabilities_are_as_exact_as_the_page_says(name: str) -> None:
    purchase, action = stated_exactness()[name]
    for rounds in (0, 35):
        policy, tables = trained(name, SMALL, rounds)
        for t in range(3):
            known = tables.known(t, ())
            purchased = policy.choose_features(known)
            bought = policy.propensity(known, purchased)
            seen = tables.observe(t, purchased, known)
            assert bought is not None
            acted = policy.propensity(seen, policy.choose_action(seen), notes=bought.notes)
            assert acted is not None
            for said, found in ((purchase, bought), (action, acted)):
                assert found.error == 0 or said.startswith(("within", "estimated"))
                assert found.error <= 1e-6 or said.startswith("estimated")
                assert found.probability == 1 or said != "1"


def test_the_tail_of_chi_square() -> None:
    for degrees in (1, 2, 3, 8, 31):
        for statistic in (0.1, 1.0, 7.5, 60.0):
            exact = stats.chi2.sf(statistic, degrees)
            assert chi_square_tail(statistic, degrees) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("policy", [TwoNotes, TwoNotesStated])
def test_the_conformance_suite_accepts_notes(policy: Any) -> None:
    subject = Subject.of(policy, problem=None, seed=0, parameters={})
    asking_for_propensities_changes_nothing(subject)
    propensities_are_frequencies(subject)


class RareChoices(Policy):
    """Rarely buys a feature, and rarely takes another action. It does not state how likely."""

    def _choose_features(self, known: Observation) -> Purchase:
        del known
        return Purchase(self.rng.random(self.problem.n_features) < 0.02)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        del observation
        allowed = np.flatnonzero(available)
        return int(self.rng.choice(allowed) if self.rng.random() < 0.03 else allowed[0])

    def _update(self, observation: Any, action: int, reward: float, outcome: Any) -> None:
        pass


def test_rare_choices_may_be_missing_in_an_estimate() -> None:
    for seed in range(3):
        subject = Subject.of(RareChoices, problem=None, seed=seed, parameters={})
        propensities_are_frequencies(subject)
