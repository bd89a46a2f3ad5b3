"""Clients of a decision service: `Client`, and `AsyncClient` for asyncio.

Every write has its own idempotency key and is repeated under that key for some seconds until the
service has answered, so nothing is decided, paid or learnt twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from thrifty import client_requests
from thrifty.case import Case
from thrifty.client_requests import Call, RewardReceipt

__all__ = ["AsyncClient", "Case", "Client", "RewardReceipt"]

T = TypeVar("T")


class Client:
    """Asks a decision service, with the methods of `Agent`.

    Parameters
    ----------
    url : str
        Address of the service.
    policy : str, optional
        The policy to ask, if the service has several.
    key : str, optional
        An API key, if the service needs one.
    timeout : float
        Seconds to wait for an answer.
    retries : int
        How often a request is repeated when the connection is lost or the service cannot write;
        8 times take about 7 s.

    Examples
    --------
    ```python
    with Client("http://127.0.0.1:8000") as client:
        case = client.ask(free={"age": 44})
        while case.buy:
            case = client.observe(case, values=look_up(case.buy))
        do(case.action)
        client.tell(case, reward=95.0)
    ```
    """

    def __init__(
        self,
        url: str,
        policy: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 8,
    ) -> None:
        self._http = httpx.Client(base_url=url, timeout=timeout, trust_env=False)
        self._policy, self._key, self._retries = policy, key, retries

    def ask(
        self,
        *,
        free: Mapping[str, Any] | None = None,
        available: Iterable[str] | None = None,
        policy: str | None = None,
        key: str | None = None,
    ) -> Case:
        """Open a case.

        Parameters
        ----------
        free : mapping, optional
            Values that are known without paying, by feature.
        available : iterable of str, optional
            The actions to choose from if nothing is to be bought; None means all.
        policy : str, optional
            The policy to ask; by default the client's, or the only one of the service, which a
            key with the scope `read` can find out.
        key : str, optional
            Idempotency key; by default a new one.

        Returns
        -------
        Case
            What to buy or, if nothing, the action.
        """
        if policy is None and self._policy is None:
            self._policy = self._call(client_requests.single_policy())
        return self._call(client_requests.ask(policy or str(self._policy), free, available, key))

    def observe(
        self,
        case: Case | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
        key: str | None = None,
    ) -> Case:
        """Report what came of a purchase.

        Parameters
        ----------
        case : Case or str
            The case, or its id.
        values : mapping
            Values by feature. What could not be had is left out or None.
        costs : mapping
            What was paid, by feature or by bundle. What is left out cost its list price.
        available : iterable of str, optional
            The actions to choose from; None means all.
        key : str, optional
            Idempotency key; by default a new one.

        Returns
        -------
        Case
            What to buy next or, if nothing, the action.
        """
        return self._call(client_requests.observe(case, values, costs, available, key))

    def tell(
        self,
        case: Case | str,
        reward: float | None = None,
        *,
        outcome: str | None = None,
        key: str | None = None,
    ) -> RewardReceipt:
        """Report what came of the action.

        Parameters
        ----------
        case : Case or str
            The case, or its id.
        reward : float, optional
            In money, within the policy's range of rewards.
        outcome : str, optional
            What turned out to be true; the reward follows from it.
        key : str, optional
            Idempotency key; by default a new one.

        Returns
        -------
        RewardReceipt
        """
        return self._call(client_requests.tell(case, reward, outcome, key))

    def abandon(self, case: Case | str, *, key: str | None = None) -> None:
        """Close a case whose reward will never come; the policy learns nothing from it."""
        self._call(client_requests.abandon(case, key))

    def case(self, case: Case | str) -> Case:
        """Return what to do next in a case."""
        return self._call(client_requests.get_case(case))

    def explain(self, case: Case | str) -> dict[str, Any]:
        """Return everything known of a case, and why it was decided as it was."""
        return self._call(client_requests.explain(case))

    def policy(self, name: str) -> dict[str, Any]:
        """Return what a policy is and what it has done so far."""
        return self._call(client_requests.get_policy(name))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, call: Call[T]) -> T:
        for pause in client_requests.retry_delays(self._retries):
            wait = pause
            try:
                response = self._http.request(**call.request_arguments(self._key))
                if response.status_code not in client_requests.RETRIED_STATUSES:
                    return call.read_response(response)
                wait = max(pause, client_requests.retry_after(response))
            except httpx.TransportError:
                pass
            time.sleep(wait)
        try:
            return call.read_response(self._http.request(**call.request_arguments(self._key)))
        except httpx.TransportError as error:
            raise client_requests.unreachable_error(error, call.key) from error


class AsyncClient:
    """Asks a decision service from asyncio; see `Client`, which has the same methods.

    Parameters
    ----------
    url : str
        Address of the service.
    policy : str, optional
        The policy to ask, if the service has several.
    key : str, optional
        An API key, if the service needs one.
    timeout : float
        Seconds to wait for an answer.
    retries : int
        How often a request is repeated.
    """

    def __init__(
        self,
        url: str,
        policy: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 8,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=timeout, trust_env=False)
        self._policy, self._key, self._retries = policy, key, retries

    async def ask(
        self,
        *,
        free: Mapping[str, Any] | None = None,
        available: Iterable[str] | None = None,
        policy: str | None = None,
        key: str | None = None,
    ) -> Case:
        """Open a case; see `Client`."""
        if policy is None and self._policy is None:
            self._policy = await self._call(client_requests.single_policy())
        return await self._call(
            client_requests.ask(policy or str(self._policy), free, available, key)
        )

    async def observe(
        self,
        case: Case | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
        key: str | None = None,
    ) -> Case:
        """Report what came of a purchase; see `Client`."""
        return await self._call(client_requests.observe(case, values, costs, available, key))

    async def tell(
        self,
        case: Case | str,
        reward: float | None = None,
        *,
        outcome: str | None = None,
        key: str | None = None,
    ) -> RewardReceipt:
        """Report what came of the action; see `Client`."""
        return await self._call(client_requests.tell(case, reward, outcome, key))

    async def abandon(self, case: Case | str, *, key: str | None = None) -> None:
        """Close a case whose reward will never come; the policy learns nothing from it."""
        await self._call(client_requests.abandon(case, key))

    async def case(self, case: Case | str) -> Case:
        """Return what to do next in a case."""
        return await self._call(client_requests.get_case(case))

    async def explain(self, case: Case | str) -> dict[str, Any]:
        """Return everything known of a case, and why it was decided as it was."""
        return await self._call(client_requests.explain(case))

    async def policy(self, name: str) -> dict[str, Any]:
        """Return what a policy is and what it has done so far."""
        return await self._call(client_requests.get_policy(name))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, call: Call[T]) -> T:
        for pause in client_requests.retry_delays(self._retries):
            wait = pause
            try:
                response = await self._http.request(**call.request_arguments(self._key))
                if response.status_code not in client_requests.RETRIED_STATUSES:
                    return call.read_response(response)
                wait = max(pause, client_requests.retry_after(response))
            except httpx.TransportError:
                pass
            await asyncio.sleep(wait)
        try:
            return call.read_response(await self._http.request(**call.request_arguments(self._key)))
        except httpx.TransportError as error:
            raise client_requests.unreachable_error(error, call.key) from error
