"""Rewards and deadlines at the desk, hand-checkable, on both stores."""

import asyncio
from pathlib import Path

import pytest

from service.engines import DAY, Office, in_office
from thrifty.errors import OutOfTurn, RoundClosed
from thrifty.service.metrics import Meter, rendered
from thrifty.service.responses import case_view
from thrifty.service.served_policy import Settings


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
    async def scene(it: Office) -> None:
        case = await it.acted()
        assert [await it.reward(case, money) for money in rewards] == uses
        await it.settled()
        await it.pass_deadlines()
        await it.settled()
        assert it.book.totals.reward == sum(learnt)
        assert it.book.model.learnt == len(learnt)
        assert not it.book.cases
        view = case_view(*await it.desk.case("default", case))
        assert view["learnt_reward"] == (learnt[0] if learnt else None)
        assert sum(it.book.totals.lags) == len(rewards)

    in_office(store_address, scene, rule=rule)


def test_a_case_that_waited_with_its_reward_has_not_expired(store_address: str) -> None:
    async def scene(it: Office) -> None:
        await it.reward(await it.acted(), 10.0)
        await it.acted()
        await it.settled()
        await it.pass_deadlines()
        assert (it.book.totals.counts["learnt"], it.book.totals.counts["expired"]) == (1, 1)
        page = rendered(Meter(), [it.book]).decode()
        assert 'thrifty_cases_ended_total{how="expired",policy="lending"} 1.0' in page

    in_office(store_address, scene, rule='rule = "last"')


@pytest.mark.parametrize(
    ("rule", "use", "learnt"),
    [
        ("", "late", 0),
        ("learn_late = true", "late-learnt", 1),
        ("learn_late = true\ndefault = 0", "late", 1),  # the default was learnt before
    ],
)
def test_late_rewards_are_kept_and_learnt_if_that_is_wanted(
    store_address: str, rule: str, use: str, learnt: int
) -> None:
    async def scene(it: Office) -> None:
        case = await it.acted()
        await it.settled()
        await it.pass_deadlines()
        assert await it.reward(case, 50.0) == use
        assert await it.reward(case, 60.0) == "late"
        await it.settled()
        assert it.book.model.learnt == learnt
        assert list(it.book.totals.late) == [case, case]
        assert it.book.totals.lags == [0] * 8 + [2]  # both came after more than a week
        _, found = await it.desk.case("default", case)
        assert found.end == "expired"

    in_office(store_address, scene, rule=rule)


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
    async def scene(it: Office) -> None:
        case = await it.acted()
        for money in (3.0, 4.0) if "rule" in rule else ():
            assert await it.reward(case, money) == "noted"
        await it.settled()
        it.clock.at += 8 * DAY
        assert await it.reward(case, 50.0) == use
        await it.settled()
        await it.desk._look_after()
        await it.settled()
        assert not it.book.cases
        assert (it.book.model.learnt, it.book.totals.reward) == (len(learnt), sum(learnt))

    in_office(store_address, scene, settings=Settings(tick=1000, poll=0.005), rule=rule)


def test_a_case_that_never_acted_teaches_nothing(store_address: str) -> None:
    async def scene(it: Office) -> None:
        opened = await it.open()
        with pytest.raises(OutOfTurn, match="has no action yet"):
            await it.reward(opened.case, 1.0)
        await it.settled()
        await it.pass_deadlines()
        abandoned = await it.acted()
        await it.abandon(abandoned)
        with pytest.raises(RoundClosed, match="was abandoned"):
            await it.reward(abandoned, 1.0)
        await it.settled()
        await it.pass_deadlines()
        assert it.book.model.learnt == 0
        assert it.book.totals.counts["expired"] == 1
        assert it.book.totals.counts["abandoned"] == 1

    in_office(store_address, scene, rule="default = 1")


def test_a_clock_that_was_put_back(store_address: str) -> None:
    """A case that was opened in a future that did not come does not hold up those behind it."""

    async def scene(it: Office) -> None:
        it.clock.at += 30 * DAY
        early = await it.acted()
        it.clock.at -= 30 * DAY
        cases = [await it.acted() for _ in range(3)]
        await it.settled()
        it.clock.at += 8 * DAY
        async with asyncio.timeout(20):
            while set(it.book.cases) != {early}:
                await asyncio.sleep(0.01)
        assert it.book.totals.counts["expired"] == len(cases)

    in_office(store_address, scene)


def test_deadlines_of_closed_cases_are_forgotten(tmp_path: Path) -> None:
    async def scene(it: Office) -> None:
        for _ in range(1200):
            await it.abandon((await it.open()).case)
        left = await it.open()
        assert len(it.book._deadlines) < 1100
        assert [case.id for case in it.book.overdue(it.clock.at + 8 * DAY)] == [left.case]

    in_office(tmp_path / "store.db", scene)
