"""Formatting of amounts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thrifty.names import display_name as display_name
from thrifty.names import join_names as join_names
from thrifty.tables.cases import Cases
from thrifty.worth.selection import Estimate


@dataclass(frozen=True)
class MoneyFormat:
    """Format amounts with as many decimals as the smallest price needs."""

    currency: str
    decimals: int

    @classmethod
    def for_cases(cls, cases: Cases) -> MoneyFormat:
        """Return the format that suits the prices of these cases."""
        positive = cases.mean_prices[cases.mean_prices > 0]
        smallest = float(positive.min()) if positive.size else 1.0
        decimals = min(max(2, math.ceil(-math.log10(smallest)) + 1), 6)
        return cls(cases.rewards.currency, decimals)

    def amount(self, value: float) -> str:
        """Format an amount without the currency.

        >>> MoneyFormat("EUR", 2).amount(1234.5), MoneyFormat("EUR", 2).amount(-0.001)
        ('1,234.50', '0.00')
        """
        text = f"{value:,.{self.decimals}f}"
        # Without this, -0.001 would become "-0.00".
        is_zero = not text.strip("-0.,")
        return text.removeprefix("-") if is_zero else text

    def money(self, value: float) -> str:
        """Format an amount with the currency."""
        return f"{self.amount(value)} {self.currency}".strip()

    def total(self, value: float) -> str:
        """Format a sum over many cases, in whole units if it is large.

        >>> MoneyFormat("EUR", 4).total(-1234.5), MoneyFormat("EUR", 4).total(12.345)
        ('-1,234 EUR', '12.35 EUR')
        """
        # Rounded first, so that 999.999 does not become 1,000.00.
        decimals = 0 if round(abs(value), 2) >= 1000 else 2
        return MoneyFormat(self.currency, decimals).money(value)

    def interval(self, estimate: Estimate) -> str:
        """Format the ends of an interval."""
        return f"{self.amount(estimate.low)} to {self.amount(estimate.high)}"
