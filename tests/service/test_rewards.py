"""Rewards and deadlines on both stores, with numbers that can be checked by hand."""

from pathlib import Path

import pytest

from service.engines import DAY, EngineHarness, run_with_engine
from thrifty.errors import OutOfTurn, RoundClosed
from thrifty.service.metrics import RequestMetrics, render_metrics
from thrifty.service.responses import case_view
from thrifty.service.served_policy import EngineSettings
from waiting import until


@pytest.mark.parametrize(
    ("rule", "rewards", "uses", "learnt"),
    [
        ('rule = "first"', [5.0, 7.0], ["learnt", "extra"], [5.0]),
        ('rule = "last"', [5.0, 7.0], ["noted", "noted"], [7.0]),
        ('rule = "sum"', [5.0, 7.0], ["noted", "noted"], [12.0]),
        ('rule = "sum"', [100.0, 100.0], ["noted", "noted"], [120.0]),  # the end of the scale
        ("default = -3", [], [], [-3.0]),
        ('rule = "sum"\ndefault = -3', [5.0], ["noted"], [5.0]),
        ("", [], [], []),
    ],
)
def test_reward_rules(
    store_address: str, rule: str, rewards: list[float], uses: list[str], learnt: list[float]
) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = await harness.acted()
        assert [await harness.reward(case, money) for money in rewards] == uses
        await harness.settled()
        await harness.pass_deadlines()
        await harness.settled()
        assert harness.projection.totals.reward == sum(learnt)
        assert harness.projection.panel.rounds_learnt == len(learnt)
        assert not harness.projection.cases
        view = case_view(*await harness.engine.case("default", case))
        assert view["learnt_reward"] == (learnt[0] if learnt else None)
        assert sum(harness.projection.totals.lags) == len(rewards)

    run_with_engine(store_address, scenario, rule=rule)


def test_a_case_that_waited_with_its_reward_has_not_expired(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        await harness.reward(await harness.acted(), 10.0)
        await harness.acted()
        await harness.settled()
        await harness.pass_deadlines()
        assert (
            harness.projection.totals.counts["learnt"],
            harness.projection.totals.counts["expired"],
        ) == (
            1,
            1,
        )
        page = render_metrics(RequestMetrics(), [harness.projection]).decode()
        assert 'thrifty_cases_ended_total{how="expired",policy="lending"} 1.0' in page

    run_with_engine(store_address, scenario, rule='rule = "last"')


@pytest.mark.parametrize(
    ("rule", "use", "learnt"),
    [
        ("", "late", 0),
        ("learn_late = true", "late-learnt", 1),
        ("learn_late = true\ndefault = 0", "late", 1),  # the default was learnt before
    ],
)
def test_late_rewards_are_stored_and_learnt_if_wanted(
    store_address: str, rule: str, use: str, learnt: int
) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = await harness.acted()
        await harness.settled()
        await harness.pass_deadlines()
        assert await harness.reward(case, 50.0) == use
        assert await harness.reward(case, 60.0) == "late"
        await harness.settled()
        assert harness.projection.panel.rounds_learnt == learnt
        assert list(harness.projection.totals.late) == [case, case]
        assert harness.projection.totals.lags == [0] * 8 + [2]  # both came after more than a week
        _, found = await harness.engine.case("default", case)
        assert found.end == "expired"

    run_with_engine(store_address, scenario, rule=rule)


@pytest.mark.parametrize(
    ("rule", "use", "learnt"),
    [
        ("", "late", []),
        ("learn_late = true", "late-learnt", [50.0]),
        ("learn_late = true\ndefault = 0", "late", [0.0]),
        ('learn_late = true\nrule = "sum"', "late", [7.0]),
        ('learn_late = true\nrule = "last"', "late", [4.0]),
    ],
)
def test_a_late_reward_that_comes_before_the_watch_means_the_same(
    store_address: str, rule: str, use: str, learnt: list[float]
) -> None:
    async def scenario(harness: EngineHarness) -> None:
        case = await harness.acted()
        for money in (3.0, 4.0) if "rule" in rule else ():
            assert await harness.reward(case, money) == "noted"
        await harness.settled()
        harness.clock.at += 8 * DAY
        assert await harness.reward(case, 50.0) == use
        await harness.settled()
        await harness.engine._maintain()
        await harness.settled()
        assert not harness.projection.cases
        assert (harness.projection.panel.rounds_learnt, harness.projection.totals.reward) == (
            len(learnt),
            sum(learnt),
        )

    run_with_engine(
        store_address, scenario, settings=EngineSettings(tick=1000, poll=0.005), rule=rule
    )


def test_nothing_is_learnt_from_a_case_without_an_action(store_address: str) -> None:
    async def scenario(harness: EngineHarness) -> None:
        opened = await harness.open()
        with pytest.raises(OutOfTurn, match="has no action yet"):
            await harness.reward(opened.case, 1.0)
        await harness.settled()
        await harness.pass_deadlines()
        abandoned = await harness.acted()
        await harness.abandon(abandoned)
        with pytest.raises(RoundClosed, match="was abandoned"):
            await harness.reward(abandoned, 1.0)
        await harness.settled()
        await harness.pass_deadlines()
        assert harness.projection.panel.rounds_learnt == 0
        assert harness.projection.totals.counts["expired"] == 1
        assert harness.projection.totals.counts["abandoned"] == 1

    run_with_engine(store_address, scenario, rule="default = 1")


def test_a_clock_that_goes_back(store_address: str) -> None:
    """A case with a deadline in the far future does not delay later cases."""

    async def scenario(harness: EngineHarness) -> None:
        harness.clock.at += 30 * DAY
        early = await harness.acted()
        harness.clock.at -= 30 * DAY
        cases = [await harness.acted() for _ in range(3)]
        await harness.settled()
        harness.clock.at += 8 * DAY
        await until(lambda: set(harness.projection.cases) == {early})
        assert harness.projection.totals.counts["expired"] == len(cases)

    run_with_engine(store_address, scenario)


def test_deadlines_of_closed_cases_are_forgotten(tmp_path: Path) -> None:
    async def scenario(harness: EngineHarness) -> None:
        for _ in range(1200):
            await harness.abandon((await harness.open()).case)
        left = await harness.open()
        assert len(harness.projection._deadlines) < 1100
        assert [case.id for case in harness.projection.overdue(harness.clock.at + 8 * DAY)] == [
            left.case
        ]

    run_with_engine(tmp_path / "store.db", scenario)
