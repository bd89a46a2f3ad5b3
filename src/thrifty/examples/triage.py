"""Triage: a synthetic emergency department that may run tests before it places a patient."""

from __future__ import annotations

from thrifty.examples.synthetic import Factor, SyntheticExample

_WINTER = (
    {"": 0.01, "oxygen low": 0.75, "marker high": 0.10},
    {"": 0.02, "marker high": 0.70, "film shadow": 0.85},
)
_SPRING = (
    {"": 0.01, "oxygen low": 0.75, "marker high": 0.10},
    {"": 0.02, "marker high": 0.70, "rhythm fast & trace changed": 0.85},
)

TRIAGE = SyntheticExample(
    title="Triage",
    factors=(
        Factor("age", ("under 65", "65 or older"), ((0.6, 0.4),)),
        Factor(
            "oxygen",
            ("oxygen normal", "oxygen low"),
            ((0.93, 0.07), (0.86, 0.14)),
            given="age",
        ),
        Factor("blood", ("marker low", "marker raised", "marker high"), ((0.55, 0.29, 0.16),)),
        Factor("xray", ("film clear", "film unclear", "film shadow"), ((0.66, 0.12, 0.22),)),
        Factor("rhythm", ("rhythm slow", "rhythm fast"), ((0.65, 0.35),)),
        Factor(
            "trace",
            ("trace usual", "trace changed"),
            ((0.9, 0.1), (0.55, 0.45)),
            given="rhythm",
        ),
    ),
    outcomes=("critical", "serious", "mild"),
    risks=(_WINTER, _SPRING, _SPRING),
    ends=(0.5, 0.7, 1.0),
    rewards={
        "home": (-900.0, -700.0, 0.0),
        "ward": (-500.0, 0.0, -250.0),
        "intensive": (0.0, -300.0, -600.0),
    },
    prices={
        "oxygen": (8.0,),
        "blood": (25.0, 25.0, 12.0),
        "xray": (80.0,),
        "parking_lot": (2.0,),
        "ecg": (20.0,),
    },
    bundles={"ecg": ("rhythm", "trace")},
    free=("age",),
    noise=("parking_lot",),
)
"""Best: oxygen, blood and ecg. The X-ray is informative in the first half, the ECG later."""
