"""Lending: a synthetic bank that may check income, history and more before it approves."""

from __future__ import annotations

from thrifty.examples.synthetic import Factor, SyntheticExample

_BEFORE = {
    "": 0.01,
    "arrears": 0.65,
    "low": 0.55,
    "prepaid & new": 0.55,
    "poor": 0.55,
    "temporary": 0.75,
}
_CRISIS = {
    **{key: value for key, value in _BEFORE.items() if key != "temporary"},
    "": 0.015,
    "self-employed": 0.75,
}

LENDING = SyntheticExample(
    title="Lending",
    factors=(
        Factor("channel", ("branch", "online"), ((0.6, 0.4),)),
        Factor("income", ("low", "middle", "high"), ((0.07, 0.55, 0.38),)),
        Factor(
            "history",
            ("clean", "thin file", "arrears"),
            ((0.75, 0.2, 0.05), (0.68, 0.22, 0.10)),
            given="channel",
        ),
        Factor(
            "bureau",
            ("good", "fair", "poor"),
            ((0.6, 0.34, 0.06), (0.4, 0.51, 0.09), (0.1, 0.4, 0.5)),
            given="history",
        ),
        Factor("employment", ("permanent", "temporary", "self-employed"), ((0.85, 0.08, 0.07),)),
        Factor("contract", ("prepaid", "monthly"), ((0.3, 0.7),)),
        Factor("tenure", ("new", "longer"), ((0.25, 0.75), (0.2, 0.8)), given="contract"),
    ),
    outcomes=("default", "repaid"),
    risks=((_BEFORE,), (_BEFORE,), (_CRISIS,)),
    ends=(0.3, 0.5, 1.0),
    rewards={"approve": (-900.0, 120.0), "decline": (0.0, 0.0)},
    prices={
        "income": (6.0,),
        "history": (9.0, 5.0, 5.0),
        "bureau": (30.0,),
        "employment": (4.0,),
        "region_code": (1.0,),
        "phone": (5.0,),
    },
    bundles={"phone": ("contract", "tenure")},
    free=("channel",),
    noise=("region_code",),
)
"""Best: income, history, employment and phone. Risky kinds of jobs change halfway."""
