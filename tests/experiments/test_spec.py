"""Specifications: what they contain, and errors that name the culprit."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.small_experiments import SPEC, written
from thrifty.environments.families import FAMILIES
from thrifty.errors import InvalidSpec, UnknownName
from thrifty.experiments.environments import environment_named
from thrifty.experiments.makers import maker_of
from thrifty.experiments.roles import Role
from thrifty.experiments.single_runs import first_environment, single_runs
from thrifty.experiments.spec import catalogue, find, find_all, for_choosing, parse_seeds
from thrifty.policies.registry import make_policy
from thrifty.theory import recommended_window

GOOD = """
title = "Mine"
seeds = "0:2"
rounds = 50
[environment]
name = "random"
levels = [2, 3]
[[policies]]
policy = "sw-ucb"
tau = 10
published = [1, 2.5]
"""
TARGET = '{policy = "sw-ucb", against = "%s", regret_at_most = %s}'


def test_a_file_is_read(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, GOOD))
    assert (experiment.id, experiment.title, experiment.seeds) == ("mine", "Mine", (0, 1))
    assert (experiment.environment, experiment.horizons) == ("random", (50,))
    assert experiment.environment_params == {"levels": [2, 3]}
    entry = experiment.entries[0]
    assert (entry.label, entry.policy, entry.params) == ("sw-ucb", "sw-ucb", {"tau": 10})
    assert entry.published == (1.0, 2.5)
    assert (entry.reported, entry.grid, experiment.is_grid) == ({}, (), False)


def test_without_rounds_runs_go_to_the_end(tmp_path: Path) -> None:
    assert find(written(tmp_path, GOOD.replace("rounds = 50", ""))).horizons == ()


def test_several_rounds_are_runs_of_their_own(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, GOOD.replace("rounds = 50", "rounds = [30, 50]")))
    assert experiment.horizons == (30, 50)
    runs = single_runs(experiment)
    assert list(runs) == [("sw-ucb", t, seed) for t in (30, 50) for seed in (0, 1)]
    assert [run.rounds for run in runs.values()] == [30, 30, 50, 50]
    # An environment that takes a number of rounds is made for each horizon.
    assert [run.parsed_environment_params["rounds"] for run in runs.values()] == [30, 30, 50, 50]


def test_a_world_that_says_its_rounds_keeps_them(tmp_path: Path) -> None:
    fixed = GOOD.replace("levels = [2, 3]", "rounds = 70")
    runs = single_runs(find(written(tmp_path, fixed)))
    assert {run.parsed_environment_params["rounds"] for run in runs.values()} == {70}
    assert {run.rounds for run in runs.values()} == {50}
    published = GOOD.replace('"random"\nlevels = [2, 3]', '"nursery/published"')
    runs = single_runs(find(written(tmp_path, published)))
    assert {run.environment_params for run in runs.values()} == {"{}"}


RECOMMENDED = """
title = "Windows by the theorems"
seeds = "0:1"
rounds = [1000, 8000]
[environment]
name = "random"
[[policies]]
policy = "ncc-ucrl2"
window = "recommended"
"""


def windows(folder: Path, text: str) -> list[int]:
    runs = single_runs(find(written(folder, text)))
    return [run.parsed_params["window"] for run in runs.values()]


def test_the_recommended_window_is_the_horizon_where_nothing_changes(tmp_path: Path) -> None:
    assert windows(tmp_path, RECOMMENDED) == [1000, 8000]


@pytest.mark.parametrize(
    "changes",
    [
        "reward_changes = [100]",
        "cost_changes = [0.5]",
        "reward_changes = [0.25]\ncost_changes = [0.25]",
    ],
)
def test_the_recommended_window_with_one_change(tmp_path: Path, changes: str) -> None:
    # (T / changes)^(2/3) is 100 and 400; a change of both rewards and costs is one.
    text = RECOMMENDED.replace('name = "random"', f'name = "random"\n{changes}')
    assert windows(tmp_path, text) == [100, 400]


def test_the_recommended_window_with_eight_changes(tmp_path: Path) -> None:
    shares = "reward_changes = [0.1, 0.2, 0.3, 0.4, 0.5]\ncost_changes = [0.5, 0.6, 0.7, 0.8]"
    text = RECOMMENDED.replace('name = "random"', f'name = "random"\n{shares}')
    assert windows(tmp_path, text) == [25, 100]


@pytest.mark.parametrize(
    "world",
    [
        'name = "all-relevant"\nchanges = 7',  # at eighths; and prices change at .4 and .7
        'name = "recurring-regimes"',  # eight of rewards, and the same two of prices
        'name = "random"\nreward_changes = [0.1]\nramp = 80',  # ten landings, and one to end at
    ],
)
def test_the_recommended_window_knows_changes_that_are_not_written_down(
    tmp_path: Path, world: str
) -> None:
    changes = {"all-relevant": 9, "recurring-regimes": 10, "random": 11}[world.split('"')[1]]
    text = RECOMMENDED.replace('name = "random"', world)
    assert windows(tmp_path, text) == [recommended_window(t, changes) for t in (1000, 8000)]


def test_the_recommended_window_counts_changes_within_the_rounds(tmp_path: Path) -> None:
    # Of the published arrays the first 2,500 rounds have two changes, all 10,000 have seven.
    text = RECOMMENDED.replace('"random"', '"nursery/published"').replace(
        "1000, 8000", "2500, 10000"
    )
    assert windows(tmp_path, text) == [116, 127]


def test_shares_of_the_rounds_are_rounds() -> None:
    make = environment_named("random")
    shares = make(0, rounds=200, reward_changes=[0.25, 0.5], cost_changes=[0.1])
    assert (shares.reward_changes, shares.cost_changes) == ((50, 100), (20,))
    counted = make(0, rounds=200, reward_changes=[50, 100], cost_changes=[20])
    assert shares.rewards.tolist() == counted.rewards.tolist()


def test_a_recommended_window_needs_rounds(tmp_path: Path) -> None:
    text = RECOMMENDED.replace("rounds = [1000, 8000]", "")
    with pytest.raises(InvalidSpec, match="number of rounds"):
        windows(tmp_path, text)


def test_the_former_name_of_the_environments_table_is_accepted(tmp_path: Path) -> None:
    former = GOOD.replace("[environment]", "[world]")
    assert find(written(tmp_path, former)) == find(written(tmp_path, GOOD))
    both = GOOD.replace("[environment]", '[world]\nname = "random"\n[environment]')
    with pytest.raises(InvalidSpec, match=r"both \[environment\] and \[world\]"):
        find(written(tmp_path, both))


def test_roles(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, GOOD.replace("tau = 10", 'role = "later-benchmark"')))
    assert experiment.entries[0].role is Role.LATER_BENCHMARK
    assert experiment.with_role(Role.LATER_BENCHMARK) is experiment.entries[0]
    assert experiment.entries[0].params == {}
    with pytest.raises(InvalidSpec, match="no policy with role 'text'"):
        experiment.with_role(Role.TEXT)


def test_policies_that_differ_in_their_window_only() -> None:
    windows = {"w = 100": 100, "w = 250": 250, "w = 300": 300, "w = 500": 500}
    found = find("nursery/window").windows
    assert windows.items() <= found.items()
    assert len(found) == len(find("nursery/window").entries)
    assert find("nursery/published").windows == {}
    one = replace(find("nursery/window"), entries=find("nursery/window").entries[:1])
    assert one.windows == {}
    assert find("theory/stationary").windows == {}


def test_the_paper_has_every_role() -> None:
    published = find("nursery/published")
    assert {entry.role for entry in published.entries} == {*Role, None} - {Role.TUNED}
    without_role = {entry.policy for entry in published.entries if entry.role is None}
    assert without_role == {"oracle", "scout", "ncc-ucrl2-repaired"}


def test_a_grid_says_which_parameters_it_is_over(tmp_path: Path) -> None:
    text = GOOD.replace("tau = 10", "tau = [10, 20]\nalpha = 0.1\nreported = { tau = 20 }")
    experiment = find(written(tmp_path, text))
    assert experiment.is_grid
    assert [entry.grid for entry in experiment.entries] == [("tau",), ("tau",)]
    assert [entry.params for entry in experiment.entries] == [
        {"tau": 10, "alpha": 0.1},
        {"tau": 20, "alpha": 0.1},
    ]
    assert [entry.reported for entry in experiment.entries] == [{"tau": 20}] * 2


def test_the_catalogue_has_the_papers_experiments() -> None:
    names = set(catalogue())
    expected = {"published", "shuffled", "stationary", "window"}
    assert {f"nursery/{name}" for name in expected} <= names
    assert {"nursery/tuning", "nursery/tuning-stationary"} <= names
    assert {"theory/stationary", "theory/changes"} <= names
    assert all(name.count("/") == 1 for name in names)


@pytest.mark.parametrize(
    ("old", "new", "culprit"),
    [
        ('title = "Mine"', "", "'title'"),
        ('title = "Mine"', "title = 3", "title is 3"),
        ('seeds = "0:2"', 'seeds = "2:0"', "'2:0'"),
        ('seeds = "0:2"', 'seeds = "1,1"', "'1,1'"),
        ('seeds = "0:2"', "seeds = 5", "seeds is 5"),
        ("rounds = 50", 'rounds = "50"', "rounds is '50'"),
        ("rounds = 50", "rouds = 50", "'rouds'"),
        ("rounds = 50", "rounds = 0", "rounds is 0"),
        ("rounds = 50", "rounds = 2.5", "rounds is 2.5"),
        ("rounds = 50", "rounds = true", "rounds is True"),
        ("rounds = 50", "rounds = [50, -1]", "rounds is [50, -1]"),
        ("rounds = 50", "rounds = [50, 50]", "rounds is [50, 50]"),
        ("rounds = 50", 'rounds = [50, "60"]', "rounds is [50, '60']"),
        ("tau = 10", "reported = { taw = 10 }", "'taw'"),
        ("tau = 10", "reported = 10", "reported is 10"),
        ('name = "random"', 'name = "moon"', "'moon'"),
        ("levels = [2, 3]", "level = [2, 3]", "'level'"),
        ('policy = "sw-ucb"', 'policy = "swucb"', "'swucb'"),
        ("tau = 10", "taw = 10", "'taw'"),
        ("tau = 10", 'role = "hero"', "role is 'hero'"),
        ('seeds = "0:2"', 'seeds = "0:2"\nchoosing_seeds = "1:3"', "has seed 1 in both"),
        ('seeds = "0:2"', 'seeds = "0:2"\nchoosing_seeds = 3', "choosing_seeds is 3"),
        ('seeds = "0:2"', 'seeds = "0:2"\nregret = "none"', "regret is 'none'"),
        ('seeds = "0:2"', 'seeds = "0:2"\ntargets = 3', "targets is 3"),
        ('seeds = "0:2"', 'seeds = "0:2"\ntargets = [3]', "target 3"),
        ('seeds = "0:2"', 'seeds = "0:2"\ntargets = [{policy = "me"}]', "'against'"),
        ('seeds = "0:2"', f'seeds = "0:2"\ntargets = [{TARGET % ("me", "0.5")}]', "names 'me'"),
        ('seeds = "0:2"', f'seeds = "0:2"\ntargets = [{TARGET % ("sw-ucb", "-1")}]', "most is -1"),
        (GOOD[GOOD.index("[[") :], "", "'policies'"),
        ("published = [1, 2.5]", 'published = "1"', "published is '1'"),
        ("[[policies]]", "[policies]", "policies is"),
        ('policy = "sw-ucb"', 'policy = "sw-ucb"\n[[policies]]\npolicy = "sw-ucb"', "label"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, culprit: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InvalidSpec) as caught:
        find(path)
    assert culprit in str(caught.value)
    assert path in str(caught.value)


SHARED = """
title = "Mine"
seeds = "0:2"
choosing_seeds = "10,12"
regret = "realised"
policies = ["any-size", {policy = "ucb1", alpha = 0.2}]
[environment]
name = "one-relevant"
rounds = 200
"""


def test_policies_of_a_shared_list_and_ones_own(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, SHARED))
    shared = {entry.label: entry for entry in experiment.entries}
    assert next(iter(shared)) == "Oracle"
    assert (shared["UCB1"].params, shared["ucb1"].params) == ({"alpha": 0.6}, {"alpha": 0.2})
    assert experiment.regret == "realised"
    with pytest.raises(InvalidSpec, match=r"no shared list of policies 'all'.*any-size, sweeping"):
        find(written(tmp_path, SHARED.replace("any-size", "all")))


def test_seeds_for_choosing_are_kept_apart(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, SHARED))
    choosing = for_choosing(experiment)
    assert (choosing.id, choosing.seeds, choosing.choosing_seeds) == ("choosing/mine", (10, 12), ())
    assert for_choosing(experiment, (12,)).seeds == (12,)
    with pytest.raises(InvalidSpec, match=r"seeds 11 to 11 for choosing.*from 10 to 12"):
        for_choosing(experiment, (11,))
    with pytest.raises(InvalidSpec, match="has seed 10 in both seeds and choosing_seeds"):
        replace(experiment, seeds=(3, 10))
    with pytest.raises(InvalidSpec, match="reserves no seeds"):
        for_choosing(choosing)


def test_a_folder_is_all_of_its_experiments() -> None:
    worlds = find_all("worlds")
    assert worlds == find_all("worlds/")
    assert [world.id for world in worlds] == [name for name in catalogue() if name[:7] == "worlds/"]
    assert [world.id for world in find_all("worlds/additive")] == ["worlds/additive"]
    with pytest.raises(UnknownName, match="'world'"):
        find_all("world")


def test_every_family_has_a_world_of_its_own() -> None:
    played = {experiment.environment for experiment in find_all("worlds")}
    nursery = {f"nursery/{name}" for name in ("published", "shuffled", "stationary")}
    assert played == {*FAMILIES, *nursery}


def test_worlds_have_one_protocol() -> None:
    worlds = find_all("worlds")
    assert {world.seeds for world in worlds} == {tuple(range(40))}
    assert {world.choosing_seeds for world in worlds} == {tuple(range(1000, 1040))}
    assert {world.id for world in worlds if world.regret == "realised"} == {
        "worlds/nursery-published"
    }
    assert len({world.title for world in worlds}) == len(worlds)
    for world in worlds:
        sweeping = {entry.policy for entry in world.entries} & {"ncc-ucrl2-published", "sim-oos"}
        assert len(sweeping) == (
            0 if world.environment in ("many-features", "xor-among-many") else 2
        )


def test_every_policy_of_a_world_can_play_it() -> None:
    for world in find_all("worlds"):
        replay = first_environment(world)
        for entry in world.entries:
            params = {"horizon": replay.horizon, **entry.params}
            make_policy(maker_of(entry.policy), replay, 0, params)


def test_shared_parameters_are_those_of_the_shuffled_rows() -> None:
    own = {entry.label: entry for entry in catalogue()["nursery/shuffled"].entries}
    for entry in catalogue()["worlds/nursery-shuffled"].entries:
        if entry.label in own:
            assert entry == own[entry.label]


def test_an_unknown_id_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="nursery/published"):
        find("nursery/nowhere")


@pytest.mark.parametrize("text", ["", "a", "1:2:3", "-1:2", "3:3", "1,,2", "1.5"])
def test_seeds_that_are_none(text: str) -> None:
    with pytest.raises(InvalidSpec, match="0:40"):
        parse_seeds(text)


def test_features_of_a_policy(tmp_path: Path) -> None:
    text = SPEC.replace('label = "anything"\n', 'features = "best-fixed"\n')
    entries = find(written(tmp_path, text)).entries
    assert [(entry.label, entry.features) for entry in entries] == [
        ("ucb1", "all"),
        ("uniform, best fixed set", "best-fixed"),
    ]
    with pytest.raises(InvalidSpec, match="features is 'some': use one of all, best-fixed"):
        find(written(tmp_path, text.replace("best-fixed", "some")))
