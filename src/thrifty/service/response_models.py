"""Types of the JSON responses; /openapi.json is generated from them."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

Value = str | float | None


class ErrorResponse(TypedDict):
    """Why a request was refused. A refused request changes nothing."""

    error: str
    message: str
    field: str | None


class HealthResponse(TypedDict):
    """The process is running."""

    status: str
    version: str


class ReadyResponse(TypedDict):
    """The service can decide and write."""

    status: str
    policies: int


class DecisionResponse(TypedDict):
    """The next step of a case: features to buy, or the action."""

    case: str
    buy: list[str]
    action: str | None
    expected_price: float | None
    unit: str
    deadline: str | None


class RewardResponse(TypedDict):
    """How a reward is used: `learnt`, `noted`, `extra`, `late` or `late-learnt`."""

    case: str
    use: str
    late: bool


class AbandonResponse(TypedDict):
    """A case that was closed without a reward."""

    case: str
    status: str


class PropensityView(TypedDict):
    """The probability of a choice, given what was seen and bought before, and in words."""

    probability: float
    error: float
    words: str


class StepView(TypedDict):
    """One purchase of a case and its result."""

    buy: list[str]
    expected_price: float | None
    values: dict[str, Value]
    costs: dict[str, float]
    unavailable: list[str]
    reasons: Any
    propensity: PropensityView | None


class RewardView(TypedDict):
    """One reward of a case."""

    reward: float
    outcome: str | None
    use: str
    at: str


class Explanation(TypedDict):
    """The policy's reasons, with amounts in money."""

    learnt_before_buying: int | None
    reasons: Any
    learnt_before_acting: int | None
    action_values: dict[str, float | None] | None
    action_why: str | None
    action_reasons: Any
    action_propensity: PropensityView | None
    stop_propensity: PropensityView | None


class HistoryEntry(TypedDict):
    """One event of a case."""

    at: str
    event: str


class CaseResponse(TypedDict):
    """The full history of a case.

    `buy`, `expected_price`, `values`, `costs` and `unavailable` cover all purchases; `steps` lists
    them one by one. `decided_by` is the policy itself or one of its shadows.
    """

    case: str
    policy: str
    decided_by: str
    status: str
    end: str | None
    learnt: bool
    learnt_reward: float | None
    opened: str
    deadline: str
    free: dict[str, Value]
    buy: list[str]
    expected_price: float | None
    unit: str
    values: dict[str, Value]
    costs: dict[str, float]
    unavailable: list[str]
    steps: list[StepView]
    action: str | None
    outcome: str | None
    rewards: list[RewardView]
    explain: Explanation
    history: list[HistoryEntry]


class FeatureView(TypedDict):
    """A feature as declared, and its purchases so far."""

    name: str
    levels: list[str]
    price: float | None
    free: bool
    bought: int
    unavailable: int
    spend: float


class PolicyResponse(TypedDict):
    """A policy as declared, and its totals so far."""

    policy: str
    kind: str
    unit: str
    actions: list[str]
    outcomes: Any
    features: list[FeatureView]
    groups: list[Any]
    bundles: list[Any]
    reward_rule: dict[str, Any]
    learnt: int
    open: int
    counts: dict[str, int]
    reward: float
    spend: float
    gain: float
    set_in_use: list[str] | None
    noticed: dict[str, int]
    position: int
    leads: bool


class Notice(TypedDict):
    """A change that the policy detected, such as a restart or a price alarm."""

    at: int
    round: int
    kind: str
    feature: str | None


class PromotionResponse(TypedDict):
    """Which policy acts from now on, and which one acted before."""

    policy: str
    acting: str
    former: str


class ShadowView(TypedDict):
    """A policy that decides beside the acting one, and how much more per case it gains.

    `method` says how it is compared: by `lot`, in the cases that it decides, or by `coverage`, in
    the cases in which it is known what it would have gained. `cases` are all cases since the last
    change, `compared` those that count. `difference` is in money per case; `low` and `high` are
    the ends of its 95 % interval, which is valid at all times at once. They are null as long as no
    case counts.
    """

    name: str
    kind: str
    learnt: int
    traffic: float
    method: str
    cases: int
    compared: int
    difference: float | None
    low: float | None
    high: float | None


class StatusResponse(TypedDict):
    """What a policy does at the moment, with amounts in money.

    `status` is what the acting policy reports, such as what exploring has cost; it is empty for
    policies that report nothing. `plan` is the plan in use, as nested boxes. `acting` is the name
    of the policy that acts. `promotes` is true if a shadow that is better takes over by itself.
    """

    policy: str
    unit: str
    status: dict[str, Any]
    plan: dict[str, Any] | None
    acting: str
    shadows: list[ShadowView]
    promotes: bool


class ActivityResponse(TypedDict):
    """Data for the dashboard: sums over time, notices, open cases and late rewards."""

    policy: str
    seconds: float
    series: list[dict[str, float]]
    notices: list[Notice]
    late: list[str]
    open: list[str]
