"""Checks that plans buy what pays and nothing else: `python -m benchmarks.plan_checks [CHECK ...]`.

- `age-marker`: a marker that is overruled above the age of 70, beside copies and noise. The best
  fixed set is {age, marker}.
- `permuted`: tables whose outcomes are shuffled, so that nothing is worth buying. Something is
  recommended if its gain over doing nothing, on rows that took no part, exceeds 1.96 standard
  errors.
- `useless`: no column is informative. The plan should act like the best constant action.
- `many-levels`: useless categories of 50 levels, which should never be bought.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.made_up_tables import KINDS, age_marker, many_levels, useless
from benchmarks.plans_on_made_up_tables import bought_shares, look_names
from benchmarks.priced_tables import NAMES, load, reason_absent
from thrifty.plans.cases import PastCases
from thrifty.plans.learning import learn
from thrifty.plans.nested import nested_gains

Z_95 = 1.96
N_PERMUTED = 20


class Finding(NamedTuple):
    """One line of a check, and whether it is as it should be."""

    text: str
    is_right: bool


def check_age_marker(seeds: Sequence[int], n_cases: int = 12_000) -> Iterator[Finding]:
    """Yield the fixed set of every seed."""
    for seed in seeds:
        cases = age_marker(n_cases, seed)
        bought = look_names(cases, learn(cases, seed=seed).fixed.used)
        yield Finding(f"seed {seed}: {' '.join(bought)}", bought == ("age", "marker"))


def check_useless(
    seeds: Sequence[int], n_cases: int = 8_000, n_new: int = 100_000
) -> Iterator[Finding]:
    """Yield the share of cases in which plan and set act like the best constant action."""
    kind = useless()
    for seed in seeds:
        cases = kind.cases(n_cases, seed)
        new = kind.cases(n_new, seed + 10_000, cases.problem)
        learnt = learn(cases, seed=seed)
        found = {name: getattr(learnt, name).decide(new.codes) for name in ("fixed", "plan")}
        shares = {name: float((done.actions == 0).mean()) for name, done in found.items()}
        spend = {name: float(done.costs(new).mean()) for name, done in found.items()}
        text = ", ".join(
            f"{name} goes in {100 * shares[name]:.1f} % and spends {spend[name]:.3f}"
            for name in found
        )
        is_right = min(shares.values()) == 1 and max(spend.values()) == 0
        yield Finding(f"seed {seed}: {text}", is_right)


def check_many_levels(seeds: Sequence[int], n_cases: int = 8_000) -> Iterator[Finding]:
    """Yield how often useless categories of 50 levels are bought."""
    kind = many_levels()
    for seed in seeds:
        cases = kind.cases(n_cases, seed)
        learnt = learn(cases, seed=seed)
        bought = {*learnt.plan.used, *learnt.fixed.used}
        noise = [cases.looks[k].name for k in sorted(bought) if "code" in cases.looks[k].name]
        shares = bought_shares(learnt.plan, cases)
        shown = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
        yield Finding(f"seed {seed}: {shown}", not noise)


def permuted(cases: PastCases, seed: int) -> PastCases:
    """Return the same cases with shuffled outcomes."""
    shuffled = np.random.default_rng(seed).permutation(cases.outcomes)
    return replace(cases, outcomes=shuffled)


def permuted_tables(n_cases: int) -> Iterator[tuple[str, PastCases]]:
    """Yield tables with shuffled outcomes, real ones first if they are there."""
    n_real = 0 if reason_absent() else N_PERMUTED * 3 // 5
    for k in range(N_PERMUTED):
        if k < n_real:
            name = NAMES[k % len(NAMES)]
            yield f"{name} {k}", permuted(load(name), seed=k)
        else:
            kind = KINDS[k % len(KINDS)]
            yield f"{kind.name} {k}", permuted(kind.cases(n_cases, seed=k), seed=k)


def check_permuted(seeds: Sequence[int], n_cases: int = 2_500) -> Iterator[Finding]:
    """Yield what would be recommended for tables with shuffled outcomes."""
    for name, cases in permuted_tables(n_cases):
        yield judge(name, cases, seeds[0])


def judge(name: str, cases: PastCases, seed: int) -> Finding:
    """Return what would be recommended for a table in which nothing is worth buying."""
    nested = nested_gains(cases, seed=seed)
    shown, is_recommended = [], False
    for method in ("fixed", "plan"):
        gained = float((nested.gains[method] - nested.gains["nothing"]).mean())
        error = nested.standard_error(method, "nothing")
        is_recommended |= gained > Z_95 * error
        shown.append(f"{method} {gained:+.4g} +- {error:.2g}")
    return Finding(f"{name}: {', '.join(shown)}", not is_recommended)


CHECKS: dict[str, Callable[[Sequence[int]], Iterator[Finding]]] = {
    "age-marker": check_age_marker,
    "permuted": check_permuted,
    "useless": check_useless,
    "many-levels": check_many_levels,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run checks and print what they find."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan_checks", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"among {', '.join(CHECKS)}")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args(arguments)
    for name in options.checks or CHECKS:
        findings = []
        for finding in CHECKS[name](range(options.seeds)):
            findings.append(finding)
            mark = "" if finding.is_right else "  <- wrong"
            print(f"{name}, {finding.text}{mark}", flush=True)
        n_right = sum(finding.is_right for finding in findings)
        print(f"{name}: {n_right} of {len(findings)} right\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
