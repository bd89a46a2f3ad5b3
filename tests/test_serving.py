"""What `thrifty serve` says when it starts."""

from dataclasses import replace

from thrifty import Feature, Problem
from thrifty.commands.serving import deadline_lines
from thrifty.specification import PolicySpec, RewardRule

PROBLEM = Problem(features=(Feature("income", ("low", "high")),), actions=("no", "yes"))
LOANS = PolicySpec(name="loans", policy="scout", problem=PROBLEM)


def test_the_deadline_of_rewards_is_announced() -> None:
    cards = replace(LOANS, name="cards")
    fast = replace(LOANS, name="fast", rule=RewardRule(deadline=3600.0))
    late = replace(LOANS, name="late", rule=RewardRule(learn_late=True))
    assert deadline_lines([LOANS, cards, fast, late]) == [
        "Rewards reported more than 1 hour after a case is opened are not learnt "
        "(fast: [reward_rule] deadline).",
        "Rewards reported more than 7 days after a case is opened are not learnt "
        "(cards, loans: [reward_rule] deadline).",
    ]
    assert deadline_lines([late]) == []
