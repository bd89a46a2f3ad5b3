"""Clients of a decision service: `Client`, and `AsyncClient` for asyncio.

Each write has an idempotency key. If the connection is lost, the client repeats the request with
the same key, so that no decision is made twice and no reward is learnt twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from thrifty.extras import missing_package_message

try:
    import httpx
except ModuleNotFoundError as missing:
    # Still a ModuleNotFoundError, so that `except ImportError` works as usual.
    raise ModuleNotFoundError(
        missing_package_message("thrifty.client", missing.name, "service"), name=missing.name
    ) from missing

from thrifty import client_requests
from thrifty.case import Case
from thrifty.client_requests import Call, RewardReceipt

__all__ = ["AsyncClient", "Case", "Client", "RewardReceipt"]

T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])


class Client:
    """Client of a decision service, with the methods of `Agent`.

    Values may be Python or numpy numbers; NaN is the same as None. Use the client in a `with`
    statement, or close it.

    Parameters
    ----------
    url : str
        Address of the service.
    policy : str, optional
        Name of the policy, if the service has several.
    key : str, optional
        API key, if the service needs one.
    timeout : float
        Seconds to wait for a response.
    retries : int
        How often a request is repeated if the connection is lost or the service cannot write.
        The default of 8 takes about 7 seconds.

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
        free: Mapping[str, Any] | None = None,
        *,
        available: Iterable[str] | None = None,
        policy: str | None = None,
        key: str | None = None,
        case_key: str | None = None,
    ) -> Case:
        """Open a case.

        Parameters
        ----------
        free : mapping, optional
            Values that are known for free, by feature.
        available : iterable of str, optional
            The actions to choose from if nothing is bought. Default: all actions.
        policy : str, optional
            Name of the policy. Default: the policy of the client, or the only one of the service;
            finding that one needs a key with the scope `read`.
        key : str, optional
            Idempotency key. Default: a new one.
        case_key : str, optional
            What the case is about, such as a customer number: while a shadow decides a share of
            the cases, cases with the same key are decided by the same policy.

        Returns
        -------
        Case
            The features to buy or, if there are none, the action.
        """
        if policy is None and self._policy is None:
            self._policy = self._call(client_requests.single_policy())
        return self._call(
            client_requests.ask(policy or str(self._policy), free, available, key, case_key)
        )

    def observe(
        self,
        case: Case | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
        key: str | None = None,
    ) -> Case:
        """Report the result of a purchase.

        Parameters
        ----------
        case : Case or str
            The case, or its id.
        values : mapping, optional
            Values by feature. Leave out a value that is unavailable, or set it to None.
        costs : mapping, optional
            What was paid, by feature or by bundle. Default: the list prices.
        available : iterable of str, optional
            The actions to choose from. Default: all actions.
        key : str, optional
            Idempotency key. Default: a new one.

        Returns
        -------
        Case
            The features to buy next or, if there are none, the action.
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
        """Report the reward of a case, or its outcome.

        Parameters
        ----------
        case : Case or str
            The case, or its id.
        reward : float, optional
            The reward in money, within the range of the policy.
        outcome : str, optional
            The outcome, which determines the reward.
        key : str, optional
            Idempotency key. Default: a new one.

        Returns
        -------
        RewardReceipt
            How the service uses the reward.
        """
        return self._call(client_requests.tell(case, reward, outcome, key))

    def abandon(self, case: Case | str, *, key: str | None = None) -> None:
        """Close a case that will never get a reward; the policy learns nothing from it.

        Parameters
        ----------
        case : Case or str
            The case, or its id.
        key : str, optional
            Idempotency key. Default: a new one.
        """
        self._call(client_requests.abandon(case, key))

    def case(self, case: Case | str) -> Case:
        """Return the next step of a case.

        Parameters
        ----------
        case : Case or str
            The case, or its id.

        Returns
        -------
        Case
            The features to buy now or, if there are none, the action.
        """
        return self._call(client_requests.get_case(case))

    def explain(self, case: Case | str) -> dict[str, Any]:
        """Return the full history of a case, and the reasons for its decisions.

        Parameters
        ----------
        case : Case or str
            The case, or its id.

        Returns
        -------
        dict
            The response of `GET /v1/cases/{case}`. `steps` has the reasons for each purchase;
            `explain.reasons` repeats those of the first one.
        """
        return self._call(client_requests.explain(case))

    def policy(self, name: str) -> dict[str, Any]:
        """Return a policy as declared, and its totals so far.

        Parameters
        ----------
        name : str
            Name of the policy.

        Returns
        -------
        dict
            The response of `GET /v1/policies/{policy}`.
        """
        return self._call(client_requests.get_policy(name))

    def status(self, name: str) -> dict[str, Any]:
        """Return what a policy does at the moment, and the estimated gain of its shadows.

        Parameters
        ----------
        name : str
            Name of the policy.

        Returns
        -------
        dict
            The response of `GET /v1/policies/{policy}/status`.
        """
        return self._call(client_requests.get_status(name))

    def promote(self, name: str, shadow: str, *, key: str | None = None) -> dict[str, Any]:
        """Let a shadow act from now on; needs a key with the scope `admin`.

        Parameters
        ----------
        name : str
            Name of the policy.
        shadow : str
            Name of its shadow.
        key : str, optional
            Idempotency key. Default: a new one.

        Returns
        -------
        dict
            The names of the policy, of the one that is `acting` now, and of the `former` one.
        """
        return self._call(client_requests.promote(name, shadow, key))

    def demote(self, name: str, *, key: str | None = None) -> dict[str, Any]:
        """Go back to the policy that acted before the last promotion; needs the scope `admin`.

        Parameters
        ----------
        name : str
            Name of the policy.
        key : str, optional
            Idempotency key. Default: a new one.

        Returns
        -------
        dict
            The names of the policy, of the one that is `acting` now, and of the `former` one.
        """
        return self._call(client_requests.demote(name, key))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __repr__(self) -> str:
        return _show_client(self, self._http.base_url, self._policy)

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


def _show_client(client: object, url: httpx.URL, policy: str | None) -> str:
    # The API key is left out on purpose: a repr ends up in logs.
    name = "" if policy is None else f", {policy!r}"
    return f"{type(client).__name__}({str(url)!r}{name})"


def _documented_in_client(method: M) -> M:
    """Give a method the docstring of the method of `Client` with the same name."""
    method.__doc__ = getattr(Client, method.__name__).__doc__
    return method


class AsyncClient:
    """Client of a decision service for asyncio, with the methods of `Client` as coroutines.

    Parameters
    ----------
    url : str
        Address of the service.
    policy : str, optional
        Name of the policy, if the service has several.
    key : str, optional
        API key, if the service needs one.
    timeout : float
        Seconds to wait for a response.
    retries : int
        How often a request is repeated if the connection is lost or the service cannot write.
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

    @_documented_in_client
    async def ask(
        self,
        free: Mapping[str, Any] | None = None,
        *,
        available: Iterable[str] | None = None,
        policy: str | None = None,
        key: str | None = None,
        case_key: str | None = None,
    ) -> Case:
        """Open a case; see `Client.ask`."""
        if policy is None and self._policy is None:
            self._policy = await self._call(client_requests.single_policy())
        return await self._call(
            client_requests.ask(policy or str(self._policy), free, available, key, case_key)
        )

    @_documented_in_client
    async def observe(
        self,
        case: Case | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
        key: str | None = None,
    ) -> Case:
        """Report the result of a purchase; see `Client.observe`."""
        return await self._call(client_requests.observe(case, values, costs, available, key))

    @_documented_in_client
    async def tell(
        self,
        case: Case | str,
        reward: float | None = None,
        *,
        outcome: str | None = None,
        key: str | None = None,
    ) -> RewardReceipt:
        """Report the reward of a case, or its outcome; see `Client.tell`."""
        return await self._call(client_requests.tell(case, reward, outcome, key))

    @_documented_in_client
    async def abandon(self, case: Case | str, *, key: str | None = None) -> None:
        """Close a case that will never get a reward; see `Client.abandon`."""
        await self._call(client_requests.abandon(case, key))

    @_documented_in_client
    async def case(self, case: Case | str) -> Case:
        """Return the next step of a case; see `Client.case`."""
        return await self._call(client_requests.get_case(case))

    @_documented_in_client
    async def explain(self, case: Case | str) -> dict[str, Any]:
        """Return the full history of a case; see `Client.explain`."""
        return await self._call(client_requests.explain(case))

    @_documented_in_client
    async def policy(self, name: str) -> dict[str, Any]:
        """Return a policy and its totals so far; see `Client.policy`."""
        return await self._call(client_requests.get_policy(name))

    @_documented_in_client
    async def status(self, name: str) -> dict[str, Any]:
        """Return what a policy does at the moment; see `Client.status`."""
        return await self._call(client_requests.get_status(name))

    @_documented_in_client
    async def promote(self, name: str, shadow: str, *, key: str | None = None) -> dict[str, Any]:
        """Let a shadow act from now on; see `Client.promote`."""
        return await self._call(client_requests.promote(name, shadow, key))

    @_documented_in_client
    async def demote(self, name: str, *, key: str | None = None) -> dict[str, Any]:
        """Go back to the policy that acted before; see `Client.demote`."""
        return await self._call(client_requests.demote(name, key))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def __repr__(self) -> str:
        return _show_client(self, self._http.base_url, self._policy)

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
