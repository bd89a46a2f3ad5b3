"""Experiments as data: TOML files that say which policies play which world, with which seeds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any

from thrifty.errors import InvalidSpec, ThriftyError, UnknownName
from thrifty.experiments.worlds import require_world_parameters
from thrifty.parameters import Constraint, Real, Whole, check_parameter
from thrifty.policies import policy_named
from thrifty.simulation import require_parameters

SUFFIX = ".toml"
POLICIES = "policies.toml"
"""Beside the folders of the catalogue: lists of policies that experiments share, by name."""
KEYS = {"title", "seeds", "choosing_seeds", "world", "policies", "rounds", "regret", "targets"}
REGRETS = ("expected", "realised")
RECOMMENDED = "recommended"
"""In the place of a window: the one that the theorems recommend for the horizon."""


@dataclass(frozen=True)
class Entry:
    """A policy of an experiment.

    `published` are total gains that others printed for it, `reported` the parameters that they
    chose for it; `grid` names the parameters that take several values in the experiment.
    """

    label: str
    policy: str
    params: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[float, ...] = ()
    reported: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """What an experiment asks for: a policy's regret is at most this share of another's."""

    policy: str
    against: str
    regret_at_most: float


@dataclass(frozen=True)
class Experiment:
    """Which policies play which world, with which seeds, for how long.

    `horizons` are the numbers of rounds, each a run of its own; without any, runs go to the
    world's end. A world that can be made for any number of rounds is made for each of them.

    `choosing_seeds` are those on which constants may be chosen, none of which is reported.
    `regret` is the one to report: "expected", or "realised" where the truth is a table's own means
    in hindsight and its rounds are not exchangeable (see `expected_regret`). `targets` are judged
    when it has been run.
    """

    id: str
    title: str
    world: str
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    world_params: Mapping[str, Any] = field(default_factory=dict)
    horizons: tuple[int, ...] = ()
    choosing_seeds: tuple[int, ...] = ()
    regret: str = "expected"
    targets: tuple[Target, ...] = ()

    def __post_init__(self) -> None:
        both = sorted({*self.seeds} & {*self.choosing_seeds})
        if both:
            raise InvalidSpec(
                f"{self.id} would report seeds on which constants are chosen, such as {both[0]}: "
                "what is chosen on a seed looks better on it than it is, so keep seeds and "
                "choosing_seeds apart."
            )

    @property
    def is_grid(self) -> bool:
        """Whether some policy plays with many parameters, to choose among them."""
        return any(entry.grid for entry in self.entries)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of "first:stop", or of a list of numbers with commas.

    >>> parse_seeds("0:3"), parse_seeds("7,1")
    ((0, 1, 2), (7, 1))
    """
    try:
        if ":" in text:
            first, stop = (int(part) for part in text.split(":"))
            seeds = tuple(range(first, stop))
        else:
            seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        seeds = ()
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise InvalidSpec(
            f"seeds {text!r} name no seeds, or one twice: write 0:40 for seeds 0 to 39, or "
            "a list such as 3,7,12."
        )
    return seeds


def catalogue() -> dict[str, Experiment]:
    """Return the experiments that come with Thrifty, by id.

    >>> catalogue()["nursery/published"].world
    'nursery/published'
    """
    return {
        experiment.id: experiment
        for folder in sorted(_root().iterdir(), key=lambda item: item.name)
        if folder.is_dir()
        for file in sorted(folder.iterdir(), key=lambda item: item.name)
        if file.name.endswith(SUFFIX)
        for experiment in [_read(file, f"{folder.name}/{file.name.removesuffix(SUFFIX)}")]
    }


def find(name: str) -> Experiment:
    """Return the experiment of this id, or of this TOML file."""
    known = catalogue()
    if name in known:
        return known[name]
    if not name.endswith(SUFFIX):
        raise UnknownName(
            f"there is no experiment {name!r}: use one of {', '.join(known)}, or a {SUFFIX} file."
        )
    return _read(Path(name), Path(name).stem)


def find_all(name: str) -> tuple[Experiment, ...]:
    """Return all experiments of this folder of the catalogue, or the one that `find` finds.

    >>> [it.id for it in find_all("synthetic")], len(find_all("nursery/published"))
    (['synthetic/changes', 'synthetic/gradual'], 1)
    """
    folder = name.rstrip("/") + "/"
    inside = tuple(it for id_, it in catalogue().items() if id_.startswith(folder))
    return inside or (find(name),)


def for_choosing(experiment: Experiment, seeds: tuple[int, ...] | None = None) -> Experiment:
    """Return the experiment with the seeds on which constants may be chosen, or some of them.

    Its id begins with "choosing/", so that its results never take the place of what is reported.
    """
    own = experiment.choosing_seeds
    if not own:
        raise InvalidSpec(
            f"{experiment.id} sets no seeds aside for choosing: give it choosing_seeds, such as "
            '"1000:1040".'
        )
    chosen = own if seeds is None else seeds
    if not {*chosen} <= {*own}:
        raise InvalidSpec(
            f"{experiment.id} does not set all of the seeds {chosen[0]} to {chosen[-1]} aside for "
            f"choosing: take some of {own[0]} to {own[-1]}."
        )
    return replace(experiment, id=f"choosing/{experiment.id}", seeds=chosen, choosing_seeds=())


def _root() -> Traversable:
    return resources.files("thrifty.experiments") / "catalogue"


def _read(file: Path | Traversable, name: str) -> Experiment:
    content = _content(file)
    try:
        return _experiment(name, content)
    except ThriftyError as error:
        raise InvalidSpec(f"{file}: {error}") from error


def _content(file: Path | Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSpec(f"{file} cannot be read ({error.strerror}): check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSpec(f"{file} is not TOML ({error}): correct the file.") from error


@cache
def _shared() -> Mapping[str, list[dict[str, Any]]]:
    return _content(_root() / POLICIES)


def _experiment(name: str, content: dict[str, Any]) -> Experiment:
    _require_keys(content, KEYS, "an experiment")
    world = _get(content, "world", dict, "an experiment")
    world_params = {key: value for key, value in world.items() if key != "name"}
    world_name = _get(world, "name", str, "its world")
    require_world_parameters(world_name, world_params)
    policies = _get(content, "policies", list, "an experiment")
    entries = tuple(entry for it in _policies(policies) for entry in _entries(it))
    labels = [entry.label for entry in entries]
    if not entries or len(set(labels)) < len(labels):
        raise InvalidSpec(
            f"its policies are called {labels}: give at least one, and each a label of its own."
        )
    return Experiment(
        id=name,
        title=_get(content, "title", str, "an experiment"),
        world=world_name,
        world_params=world_params,
        entries=entries,
        seeds=parse_seeds(_get(content, "seeds", str, "an experiment")),
        horizons=_horizons(content.get("rounds", [])),
        choosing_seeds=_choosing_seeds(content),
        regret=_regret(content.get("regret", "expected")),
        targets=_targets(content, labels),
    )


def _choosing_seeds(content: dict[str, Any]) -> tuple[int, ...]:
    if "choosing_seeds" not in content:
        return ()
    return parse_seeds(_get(content, "choosing_seeds", str, "an experiment"))


def _regret(kind: Any) -> str:
    if kind not in REGRETS:
        raise InvalidSpec(f"regret is {kind!r}: report the regret that is one of {REGRETS}.")
    return str(kind)


def _targets(content: dict[str, Any], labels: Sequence[str]) -> tuple[Target, ...]:
    given = _get(content, "targets", list, "an experiment") if "targets" in content else []
    return tuple(_target(it, labels) for it in given)


def _target(content: Any, labels: Sequence[str]) -> Target:
    if not isinstance(content, dict):
        raise InvalidSpec(f"target {content!r} is no table: write [[targets]] before each.")
    _require_keys(content, {it.name for it in fields(Target)}, "a target")
    policy, against = (_get(content, key, str, "a target") for key in ("policy", "against"))
    for label in (policy, against):
        if label not in labels:
            raise InvalidSpec(f"a target is about {label!r}, which does not play: use {labels}.")
    share = check_parameter(
        "regret_at_most", content.get("regret_at_most"), Real(0), owner="a target"
    )
    return Target(policy, against, share)


def _policies(given: list[Any]) -> list[Any]:
    """Return the policies, those of a shared list in the place of its name."""
    policies: list[Any] = []
    for it in given:
        if isinstance(it, str) and it not in _shared():
            raise InvalidSpec(
                f"there is no shared list of policies {it!r}: use one of {', '.join(_shared())}."
            )
        policies += _shared()[it] if isinstance(it, str) else [it]
    return policies


def _horizons(rounds: Any) -> tuple[int, ...]:
    horizons = tuple(rounds if isinstance(rounds, list) else [rounds])
    if not all(Whole(1).accepts(it) for it in horizons) or len(set(horizons)) < len(horizons):
        raise InvalidSpec(f"rounds is {rounds!r}: give a whole number of at least 1, or several.")
    return tuple(sorted(horizons))


def _entries(content: Any) -> list[Entry]:
    """Return the policy, or one for each combination if some parameters are lists."""
    if not isinstance(content, dict):
        raise InvalidSpec(f"policy {content!r} is no table: write [[policies]] before each.")
    policy = _get(content, "policy", str, "a policy")
    own = {"policy", "label", "published", "reported"}
    params = {key: value for key, value in content.items() if key not in own}
    require_parameters(policy_named(policy), params)
    grid = {key: value for key, value in params.items() if isinstance(value, list)}
    _require_values(policy, params)
    if not all(grid.values()):
        raise InvalidSpec(f"{policy} has a parameter without values, {grid}: give at least one.")
    label = _get(content, "label", str, "a policy") if "label" in content else policy
    published = content.get("published", [])
    if not isinstance(published, list) or not all(isinstance(x, int | float) for x in published):
        raise InvalidSpec(f"published is {published!r}: give the list of totals that were printed.")
    reported = _get(content, "reported", dict, "a policy") if "reported" in content else {}
    require_parameters(policy_named(policy), reported)
    return [
        Entry(
            label=" ".join([label, *_settings(chosen)]),
            policy=policy,
            params=params | chosen,
            published=tuple(float(x) for x in published),
            reported=reported,
            grid=tuple(grid),
        )
        for values in product(*grid.values())
        for chosen in [dict(zip(grid, values, strict=True))]
    ]


def _require_values(policy: str, params: Mapping[str, Any]) -> None:
    """Refuse values that the policy will refuse, before anything is played."""
    make = policy_named(policy)
    owner: Any = getattr(make, "__self__", make)
    allowed: Mapping[str, Constraint] = owner.allowed
    for name, given in params.items():
        for value in given if isinstance(given, list) else [given]:
            if name in allowed and (name, value) != ("window", RECOMMENDED):
                check_parameter(name, value, allowed[name], owner=policy)


def _settings(params: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in params.items()]


def _require_keys(content: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = sorted(set(content) - known)
    if unknown:
        raise InvalidSpec(f"{what} has no key {unknown[0]!r}: its keys are {sorted(known)}.")


def _get(content: Mapping[str, Any], key: str, kind: type, what: str) -> Any:
    if key not in content:
        raise InvalidSpec(f"{what} needs a key {key!r}: add it.")
    value = content[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidSpec(f"{key} is {value!r}, but it must be of type {kind.__name__}.")
    return value
