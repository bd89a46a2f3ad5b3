"""Run the fits of a policy, now or in another process while it decides."""

from __future__ import annotations

import logging
from concurrent.futures import Future

from thrifty.errors import FitFailed
from thrifty.fits import Fit, FitWorker
from thrifty.policy import Policy

logger = logging.getLogger("thrifty")


def run_due_fits(policy: Policy) -> None:
    """Run the fits of a policy now, until none is due.

    Parameters
    ----------
    policy : Policy
        The policy, which uses the results.
    """
    while (fit := policy.due_fit) is not None:
        policy.apply_fit(fit.number, fit.run())


class BackgroundFits:
    """Run the fits of a policy in another process, and apply their results between calls.

    Parameters
    ----------
    policy : Policy
        The policy; its `fits_beside` becomes True.
    """

    def __init__(self, policy: Policy) -> None:
        policy.fits_beside = True
        self._policy = policy
        self._worker = FitWorker()
        self._number: int | None = None
        self._result: Future[bytes] | None = None
        self._failed: int | None = None

    def start(self) -> None:
        """Start the due fit, unless it is running or has failed."""
        fit = self._policy.due_fit
        if fit is not None and fit.number not in (self._number, self._failed):
            self._number, self._result = fit.number, self._worker.submit(fit)

    def apply(self) -> None:
        """Let the policy use the result of a fit that has finished; a stale one is dropped."""
        if self._result is None or not self._result.done():
            return
        number, result, self._number, self._result = self._number, self._result, None, None
        assert number is not None
        try:
            found = result.result()
        except FitFailed as error:
            logger.error("%s", error)
            self._failed = number
            return
        if _is_due(self._policy.due_fit, number):
            self._policy.apply_fit(number, found)

    def close(self) -> None:
        """Stop the process; an unfinished fit stays due."""
        self._worker.close()
        self._number, self._result = None, None


def _is_due(fit: Fit | None, number: int) -> bool:
    return fit is not None and fit.number == number
