"""Compare how often a policy makes its choices with the probabilities that it states."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from thrifty.policy import Policy
from thrifty.propensities import Notes
from thrifty.rounds import Observation, Purchase

FALSE_ALARMS = 1e-6
"""Probability with which a check of a correct policy fails, if its seed is new."""
SMALLEST_EXPECTED = 8.0
"""Cells in which fewer cases are expected are counted together."""
Reveal = Callable[[Purchase, Observation], Observation]
"""What is known after a purchase, given what was known before."""


@dataclass(frozen=True)
class SampledCase:
    """The decisions of one case.

    Parameters
    ----------
    steps : tuple of (Observation, Purchase)
        What was known before each purchase, and the purchase.
    observation : Observation
        What was known before the action.
    action : int
        The action.
    """

    steps: tuple[tuple[Observation, Purchase], ...]
    observation: Observation
    action: int

    @property
    def choices(self) -> tuple[object, ...]:
        """The purchases and the action, without the policy's notes."""
        return (*[tuple(bought.mask.tolist()) for _, bought in self.steps], self.action)


@dataclass(frozen=True)
class FrequencyTest:
    """Result of a comparison.

    Parameters
    ----------
    p_value : float
        Probability of frequencies that differ at least as much, by a chi-square test.
    n_cells : int
        Number of cells of the test; 1 if there was nothing to compare.
    error : float
        Largest error of a probability.
    surprise : str
        A choice that was made although its probability is 0, or a sum of probabilities above 1;
        empty otherwise.
    """

    p_value: float
    n_cells: int
    error: float
    surprise: str = ""


def sample_case(policy: Policy, known: Observation, reveal: Reveal) -> SampledCase:
    """Let a policy decide in a case, without an update."""
    steps = []
    while True:
        purchase = policy.choose_features(known)
        steps.append((known, purchase))
        known = reveal(purchase, known)
        if not policy.stepwise or not purchase.mask.any():
            return SampledCase(tuple(steps), known, policy.choose_action(known))


def stated(policy: Policy, case: SampledCase) -> tuple[float, float] | None:
    """Return the probability of the decisions of a case, and its error.

    None if the policy does not say it.
    """
    probability, error = 1.0, 0.0
    notes: Notes | None = None
    choices: list[tuple[Observation, Purchase | int]] = [*case.steps]
    for known, choice in (*choices, (case.observation, case.action)):
        found = policy.propensity(known, choice, notes=notes)
        if found is None:
            return None
        error = error * (found.probability + found.error) + probability * found.error
        probability *= found.probability
        # An estimate may be 0 although the choice is possible. Then it has no notes of its own.
        notes = found.of_made(choice.purpose if isinstance(choice, Purchase) else 0).notes
    return probability, error


def compare_frequencies(
    policy: Policy, known: Observation, reveal: Reveal, n_cases: int
) -> FrequencyTest | None:
    """Repeat a case, and compare the frequencies of the decisions with their probabilities.

    Parameters
    ----------
    policy : Policy
        The policy. It is not updated.
    known : Observation
        What is known before the first purchase.
    reveal : callable
        Returns what is known after a purchase.
    n_cases : int
        Number of repetitions.

    Returns
    -------
    FrequencyTest or None
        The result; None if the policy does not say its probabilities.
    """
    seen: dict[tuple[object, ...], Observation] = {}

    def revealed(purchase: Purchase, before: Observation) -> Observation:
        key = (before.codes.tobytes(), purchase.mask.tobytes(), purchase.purpose)
        if key not in seen:
            seen[key] = reveal(purchase, before)
        return seen[key]

    counts: Counter[tuple[object, ...]] = Counter()
    examples: dict[tuple[object, ...], SampledCase] = {}
    for _ in range(n_cases):
        case = sample_case(policy, known, revealed)
        counts[case.choices] += 1
        examples.setdefault(case.choices, case)
    rows, largest = list[_Cell](), 0.0
    for choices, case in examples.items():
        found = stated(policy, case)
        if found is None:
            return None
        probability, error = found
        largest = max(largest, error)
        if probability == error == 0.0:
            what = f"it chose {choices}, whose probability it says is 0"
            return FrequencyTest(0.0, 1, largest, what)
        rows.append(_Cell.of(counts[choices], n_cases, probability, error))
    most = n_cases * (1 + 1e-9 + 6 * largest * len(rows))
    if sum(cell.expected for cell in rows) > most:
        return FrequencyTest(0.0, 1, largest, "its probabilities add up to more than 1")
    return _tested(rows, n_cases, largest)


@dataclass(frozen=True)
class _Cell:
    """The number of cases with a choice, the expected number, and how uncertain that is.

    The variance of the difference is `spread` times that of a number whose expectation is known.
    """

    count: int
    expected: float
    spread: float

    @classmethod
    def of(cls, count: int, n_cases: int, probability: float, error: float) -> _Cell:
        variance = max(probability * (1 - probability), error**2, 1e-300)
        return cls(count, n_cases * probability, 1 + n_cases * error**2 / variance)


def _tested(rows: list[_Cell], n_cases: int, error: float) -> FrequencyTest:
    """Test the counts of the cells, with all rare choices in one cell."""
    cells = [cell for cell in rows if cell.expected >= SMALLEST_EXPECTED]
    spread = max(cell.spread for cell in rows)
    others = n_cases - sum(cell.count for cell in cells)
    left = n_cases - sum(cell.expected for cell in cells)
    if left >= SMALLEST_EXPECTED:
        cells.append(_Cell(others, left, spread))
    elif others and spread < 2:  # an estimate cannot tell how rare a rare choice is
        tail = min(1.0, 2 * _poisson_tail(others, left))
        frequent = _chi_square(cells)
        return FrequencyTest(min(tail, 2 * frequent), len(cells) + 1, error)
    return FrequencyTest(_chi_square(cells), max(1, len(cells)), error)


def _chi_square(cells: list[_Cell]) -> float:
    if len(cells) < 2:
        return 1.0
    terms = [(cell.count - cell.expected) ** 2 / cell.expected / cell.spread for cell in cells]
    return chi_square_tail(sum(terms), len(cells) - 1)


def _poisson_tail(count: int, mean: float) -> float:
    """Return the probability of at least this count."""
    mean, term, below = max(mean, 0.0), math.exp(-max(mean, 0.0)), 0.0
    for k in range(count):
        below += term
        term *= mean / (k + 1)
    return max(0.0, 1 - below)


def chi_square_tail(statistic: float, degrees: int) -> float:
    """Return the probability that a chi-square variate is larger than this.

    Examples
    --------
    >>> round(chi_square_tail(3.841, 1), 3), round(chi_square_tail(16.919, 9), 3)
    (0.05, 0.05)
    """
    half = statistic / 2
    shape = 0.5 if degrees % 2 else 1.0
    tail = math.erfc(math.sqrt(half)) if degrees % 2 else math.exp(-half)
    while shape < degrees / 2:
        log = shape * math.log(half) if half > 0 else -math.inf
        tail += math.exp(log - half - math.lgamma(shape + 1))
        shape += 1
    return tail
