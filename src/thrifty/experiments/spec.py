"""Experiment specifications: TOML files that list policies, an environment and seeds."""

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
from thrifty.experiments.attributes import parse_attributes
from thrifty.experiments.environments import require_environment_parameters
from thrifty.experiments.makers import class_name, maker_of
from thrifty.experiments.roles import Role
from thrifty.parameters import Constraint, Real, Whole, check_parameter
from thrifty.policies.registry import require_parameters

SUFFIX = ".toml"
SHARED_POLICIES = "policies.toml"
"""File at the top of the catalogue with the policy lists that experiments share."""
ENVIRONMENT, FORMER_ENVIRONMENT = "environment", "world"
"""Key of the environment's table, and the name that it had in earlier releases."""
KEYS = {
    "title",
    "seeds",
    "choosing_seeds",
    ENVIRONMENT,
    FORMER_ENVIRONMENT,
    "policies",
    "rounds",
    "regret",
    "targets",
    "attributes",
}
REGRETS = ("expected", "realised")
RECOMMENDED = "recommended"
"""Value of `window` that stands for the window that the theorems recommend for the horizon."""
ALL, BEST_FIXED = "all", "best-fixed"
FEATURES = (ALL, BEST_FIXED)
"""Features that a policy may buy: all of them, or the best fixed set in hindsight."""


@dataclass(frozen=True)
class Entry:
    """A policy of an experiment.

    Parameters
    ----------
    label : str
        Name of the policy in tables and figures; unique within the experiment.
    policy : str
        Registered name of the policy, such as "ucb1", or FILE.py:Class for one of your own.
    params : Mapping[str, Any]
        Parameters of the policy.
    published : tuple[float, ...]
        Total gains that the paper's authors printed for it.
    reported : Mapping[str, Any]
        Parameters that the paper's authors chose for it.
    grid : tuple[str, ...]
        Names of the parameters that take several values in the experiment.
    role : Role or None
        Part that the policy plays in the comparison with the paper, if any.
    features : str
        Features that the policy plays with: "all", or "best-fixed" for those of the best fixed set
        in hindsight (see `thrifty.environments.restricted`). Regret is against the oracle with all
        features in both cases.
    """

    label: str
    policy: str
    params: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[float, ...] = ()
    reported: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[str, ...] = ()
    role: Role | None = None
    features: str = ALL

    @property
    def is_oracle(self) -> bool:
        """True if the policy knows the true means."""
        return self.policy == "oracle"


@dataclass(frozen=True)
class Target:
    """A result that an experiment is expected to show.

    Parameters
    ----------
    policy : str
        Label of the policy that the target is about.
    against : str
        Label of the policy that it is compared with.
    regret_at_most : float
        Largest allowed ratio of the two mean regrets.
    """

    policy: str
    against: str
    regret_at_most: float


@dataclass(frozen=True)
class Experiment:
    """Policies, an environment, seeds and numbers of rounds.

    Parameters
    ----------
    id : str
        Id in the catalogue, or the stem of the file's name.
    title : str
        Title in tables, figures and reports.
    environment : str
        Name of the environment (see `thrifty.experiments.environments`).
    entries : tuple[Entry, ...]
        Policies to run.
    seeds : tuple[int, ...]
        Seeds to run and report.
    environment_params : Mapping[str, Any]
        Parameters of the environment.
    horizons : tuple[int, ...]
        Numbers of rounds; each horizon is a separate run. Without any, runs end with the
        environment. Environments that take a number of rounds are made for each horizon.
    choosing_seeds : tuple[int, ...]
        Seeds for choosing constants. They are never reported.
    regret : str
        Regret to report: "expected", or "realised" where the true means are a table's own means
        in hindsight and its rounds are not exchangeable (see `thrifty.expected_regret`).
    targets : tuple[Target, ...]
        Results to check after the run.
    attributes : Mapping[str, float]
        What makes the environment difficult, by keys of `thrifty.experiments.attributes`.

    Raises
    ------
    InvalidSpec
        If a seed is in both `seeds` and `choosing_seeds`.
    """

    id: str
    title: str
    environment: str
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    environment_params: Mapping[str, Any] = field(default_factory=dict)
    horizons: tuple[int, ...] = ()
    choosing_seeds: tuple[int, ...] = ()
    regret: str = "expected"
    targets: tuple[Target, ...] = ()
    attributes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        both = sorted({*self.seeds} & {*self.choosing_seeds})
        if both:
            raise InvalidSpec(
                f"{self.id} has seed {both[0]} in both seeds and choosing_seeds: constants look "
                "better on the seeds they were chosen on, so use different seeds for each."
            )

    @property
    def is_grid(self) -> bool:
        """True if some policy is run with several values of a parameter."""
        return any(entry.grid for entry in self.entries)

    @property
    def oracle_labels(self) -> frozenset[str]:
        """Labels of the policies that know the true means."""
        return frozenset(entry.label for entry in self.entries if entry.is_oracle)

    @property
    def published_gains(self) -> dict[str, tuple[float, ...]]:
        """Total gains that the paper's authors printed, by label."""
        return {entry.label: entry.published for entry in self.entries if entry.published}

    @property
    def windows(self) -> dict[str, int]:
        """Window by label, if the policies differ in nothing but their window; otherwise empty."""
        windows = {
            entry.label: entry.params["window"]
            for entry in self.entries
            if isinstance(entry.params.get("window"), int)
        }
        others = [
            (entry.policy, {key: value for key, value in entry.params.items() if key != "window"})
            for entry in self.entries
        ]
        all_alike = all(other == others[0] for other in others)
        return windows if all_alike and len(windows) == len(others) > 1 else {}

    def with_role(self, role: Role) -> Entry:
        """Return the first policy that has this role.

        Parameters
        ----------
        role : Role
            Role to look for.

        Returns
        -------
        Entry
            The policy.

        Raises
        ------
        InvalidSpec
            If no policy has the role.
        """
        for entry in self.entries:
            if entry.role == role:
                return entry
        raise InvalidSpec(
            f"{self.id} has no policy with role {role.value!r}, which a comparison with the paper "
            f'needs: add role = "{role.value}" to the policy, and run the experiment again.'
        )


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of "first:stop", or of a list of numbers separated by commas.

    Parameters
    ----------
    text : str
        Seeds as written in a file or on the command line.

    Returns
    -------
    tuple[int, ...]
        The seeds, in the order in which they are written.

    Raises
    ------
    InvalidSpec
        If the text is not a list of different seeds.

    Examples
    --------
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
            f"seeds {text!r} is not a list of different seeds: write 0:40 for seeds 0 to 39, or "
            "a list such as 3,7,12."
        )
    return seeds


def catalogue() -> dict[str, Experiment]:
    """Return the experiments that come with Thrifty, by id.

    Returns
    -------
    dict[str, Experiment]
        The experiments in alphabetical order of their ids.

    Examples
    --------
    >>> catalogue()["nursery/published"].environment
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
    """Return the experiment with this id, or the one in this TOML file.

    Parameters
    ----------
    name : str
        Id in the catalogue, or path of a TOML file.

    Returns
    -------
    Experiment
        The experiment.

    Raises
    ------
    UnknownName
        If there is no experiment of this name.
    InvalidSpec
        If the file cannot be read or has errors.
    """
    known = catalogue()
    if name in known:
        return known[name]
    if not name.endswith(SUFFIX):
        raise UnknownName(
            f"there is no experiment {name!r}: use one of {', '.join(known)}, or a {SUFFIX} file."
        )
    return _read(Path(name), Path(name).stem)


def find_all(name: str) -> tuple[Experiment, ...]:
    """Return all experiments in this folder of the catalogue, or the one that `find` returns.

    Parameters
    ----------
    name : str
        Folder of the catalogue, id of an experiment, or path of a TOML file.

    Returns
    -------
    tuple[Experiment, ...]
        One or more experiments.

    Examples
    --------
    >>> [experiment.id for experiment in find_all("synthetic")]
    ['synthetic/changes', 'synthetic/gradual']
    >>> len(find_all("nursery/published"))
    1
    """
    folder = name.rstrip("/") + "/"
    inside = tuple(experiment for id_, experiment in catalogue().items() if id_.startswith(folder))
    return inside or (find(name),)


def is_folder(name: str) -> bool:
    """Return True for a folder of the catalogue.

    Parameters
    ----------
    name : str
        Any name.

    Returns
    -------
    bool
        True if experiments of the catalogue are in a folder of this name.

    Examples
    --------
    >>> is_folder("worlds"), is_folder("worlds/winter")
    (True, False)
    """
    return any(id_.startswith(name.rstrip("/") + "/") for id_ in catalogue())


def for_choosing(experiment: Experiment, seeds: tuple[int, ...] | None = None) -> Experiment:
    """Return the experiment with the seeds that are reserved for choosing constants.

    The new id begins with "choosing/", so its results never overwrite the reported ones.

    Parameters
    ----------
    experiment : Experiment
        Experiment with `choosing_seeds`.
    seeds : tuple[int, ...], optional
        Subset of its `choosing_seeds`; all of them by default.

    Returns
    -------
    Experiment
        The experiment to choose constants with.

    Raises
    ------
    InvalidSpec
        If the experiment reserves no seeds, or not all of `seeds`.
    """
    own = experiment.choosing_seeds
    if not own:
        raise InvalidSpec(
            f"{experiment.id} reserves no seeds for choosing constants: add choosing_seeds, e.g. "
            '"1000:1040".'
        )
    chosen = own if seeds is None else seeds
    if not {*chosen} <= {*own}:
        raise InvalidSpec(
            f"{experiment.id} does not reserve all of the seeds {chosen[0]} to {chosen[-1]} for "
            f"choosing constants: use seeds from {own[0]} to {own[-1]}."
        )
    return replace(experiment, id=f"choosing/{experiment.id}", seeds=chosen, choosing_seeds=())


def _root() -> Traversable:
    return resources.files("thrifty.experiments") / "catalogue"


def _read(file: Path | Traversable, name: str) -> Experiment:
    content = _load_toml(file)
    try:
        return _parse_experiment(name, content)
    except ThriftyError as error:
        raise InvalidSpec(f"{file}: {error}") from error


def _load_toml(file: Path | Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSpec(f"{file} cannot be read ({error.strerror}): check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSpec(f"{file} is not valid TOML ({error}): correct the file.") from error


@cache
def _shared_policies() -> Mapping[str, list[dict[str, Any]]]:
    return _load_toml(_root() / SHARED_POLICIES)


def _parse_experiment(name: str, content: dict[str, Any]) -> Experiment:
    _require_keys(content, KEYS, "an experiment")
    environment, params = _parse_environment(content)
    policies = _get(content, "policies", list, "an experiment")
    entries = tuple(
        entry for policy in _with_shared_lists(policies) for entry in _parse_entries(policy)
    )
    labels = [entry.label for entry in entries]
    if not entries or len(set(labels)) < len(labels):
        raise InvalidSpec(
            f"the labels of its policies are {labels}: list at least one policy, and give each a "
            "different label."
        )
    return Experiment(
        id=name,
        title=_get(content, "title", str, "an experiment"),
        environment=environment,
        environment_params=params,
        entries=entries,
        seeds=parse_seeds(_get(content, "seeds", str, "an experiment")),
        horizons=_parse_horizons(content.get("rounds", [])),
        choosing_seeds=_parse_choosing_seeds(content),
        regret=_parse_regret(content.get("regret", "expected")),
        targets=_parse_targets(content, labels),
        attributes=_parse_attributes(content),
    )


def _parse_environment(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    key = FORMER_ENVIRONMENT if FORMER_ENVIRONMENT in content else ENVIRONMENT
    if {ENVIRONMENT, FORMER_ENVIRONMENT} <= {*content}:
        raise InvalidSpec(
            f"it has both [{ENVIRONMENT}] and [{FORMER_ENVIRONMENT}], which is an older name for "
            f"the same table: keep [{ENVIRONMENT}] only."
        )
    table = _get(content, key, dict, "an experiment")
    name: str = _get(table, "name", str, f"[{key}]")
    params = {parameter: value for parameter, value in table.items() if parameter != "name"}
    require_environment_parameters(name, params)
    return name, params


def _parse_choosing_seeds(content: dict[str, Any]) -> tuple[int, ...]:
    if "choosing_seeds" not in content:
        return ()
    return parse_seeds(_get(content, "choosing_seeds", str, "an experiment"))


def _parse_regret(kind: Any) -> str:
    if kind not in REGRETS:
        raise InvalidSpec(f"regret is {kind!r}: use one of {', '.join(REGRETS)}.")
    return str(kind)


def _parse_targets(content: dict[str, Any], labels: Sequence[str]) -> tuple[Target, ...]:
    targets = _get(content, "targets", list, "an experiment") if "targets" in content else []
    return tuple(_parse_target(target, labels) for target in targets)


def _parse_attributes(content: dict[str, Any]) -> dict[str, float]:
    if "attributes" not in content:
        return {}
    return parse_attributes(_get(content, "attributes", dict, "an experiment"))


def _parse_target(content: Any, labels: Sequence[str]) -> Target:
    if not isinstance(content, dict):
        raise InvalidSpec(f"target {content!r} is not a table: write [[targets]] before each.")
    _require_keys(content, {item.name for item in fields(Target)}, "a target")
    policy, against = (_get(content, key, str, "a target") for key in ("policy", "against"))
    for label in (policy, against):
        if label not in labels:
            raise InvalidSpec(
                f"a target names {label!r}, which is not a policy of the experiment: use one of "
                f"{labels}."
            )
    share = check_parameter(
        "regret_at_most", content.get("regret_at_most"), Real(0), owner="a target"
    )
    return Target(policy, against, share)


def _with_shared_lists(given: list[Any]) -> list[Any]:
    """Return the policies with the names of shared lists replaced by their contents."""
    shared = _shared_policies()
    policies: list[Any] = []
    for item in given:
        if isinstance(item, str) and item not in shared:
            raise InvalidSpec(
                f"there is no shared list of policies {item!r}: use one of {', '.join(shared)}."
            )
        policies += shared[item] if isinstance(item, str) else [item]
    return policies


def _parse_horizons(rounds: Any) -> tuple[int, ...]:
    horizons = tuple(rounds if isinstance(rounds, list) else [rounds])
    valid = all(Whole(1).accepts(horizon) for horizon in horizons)
    if not valid or len(set(horizons)) < len(horizons):
        raise InvalidSpec(
            f"rounds is {rounds!r}: give a whole number of at least 1, or a list of different ones."
        )
    return tuple(sorted(horizons))


def _parse_entries(content: Any) -> list[Entry]:
    """Return one entry, or one for each combination of values if some parameters are lists."""
    if not isinstance(content, dict):
        raise InvalidSpec(f"policy {content!r} is not a table: write [[policies]] before each.")
    policy = _get(content, "policy", str, "a policy")
    own = {"policy", "label", "published", "reported", "role", "features"}
    params = {key: value for key, value in content.items() if key not in own}
    make = maker_of(policy)
    require_parameters(make, params)
    grid = {key: value for key, value in params.items() if isinstance(value, list)}
    _require_values(policy, make, params)
    if not all(grid.values()):
        raise InvalidSpec(f"{policy} has an empty list in {grid}: give at least one value.")
    features = _parse_features(content.get("features", ALL))
    default = class_name(policy) if features == ALL else f"{class_name(policy)}, best fixed set"
    label = _get(content, "label", str, "a policy") if "label" in content else default
    reported = _get(content, "reported", dict, "a policy") if "reported" in content else {}
    require_parameters(make, reported)
    return [
        Entry(
            label=" ".join([label, *(f"{name}={value}" for name, value in chosen.items())]),
            policy=policy,
            params=params | chosen,
            published=_parse_published(content.get("published", [])),
            reported=reported,
            grid=tuple(grid),
            role=_parse_role(content.get("role")),
            features=features,
        )
        for values in product(*grid.values())
        for chosen in [dict(zip(grid, values, strict=True))]
    ]


def _parse_published(published: Any) -> tuple[float, ...]:
    if not isinstance(published, list) or not all(isinstance(x, int | float) for x in published):
        raise InvalidSpec(f"published is {published!r}: give a list of total gains.")
    return tuple(float(total) for total in published)


def _parse_features(features: Any) -> str:
    if features not in FEATURES:
        raise InvalidSpec(f"features is {features!r}: use one of {', '.join(FEATURES)}.")
    return str(features)


def _parse_role(role: Any) -> Role | None:
    if role is None:
        return None
    roles = [known.value for known in Role]
    if role not in roles:
        raise InvalidSpec(f"role is {role!r}: use one of {', '.join(roles)}, or leave it out.")
    return Role(role)


def _require_values(policy: str, make: Any, params: Mapping[str, Any]) -> None:
    """Raise an error for values that the policy will not accept, before anything is run."""
    owner: Any = getattr(make, "__self__", make)
    allowed: Mapping[str, Constraint] = owner.allowed
    for name, given in params.items():
        for value in given if isinstance(given, list) else [given]:
            if name in allowed and (name, value) != ("window", RECOMMENDED):
                check_parameter(name, value, allowed[name], owner=policy)


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
