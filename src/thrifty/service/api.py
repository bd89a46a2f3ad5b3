"""The HTTP interface: endpoints over an `Engine`, described in /openapi.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Generic

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from thrifty._version import __version__
from thrifty.errors import InvalidField
from thrifty.json_values import compact_json
from thrifty.service import dashboard, responses
from thrifty.service.access import NAME, Caller, Keys
from thrifty.service.decisions import NewCase, ObservationReport
from thrifty.service.engine import Engine
from thrifty.service.events import Event
from thrifty.service.http_errors import error_body
from thrifty.service.metrics import CONTENT_TYPE, RequestMetrics, render_metrics
from thrifty.service.middleware import RequestLimits, ServiceMiddleware
from thrifty.service.openapi import Operation, build_document
from thrifty.service.requests import (
    AbandonRequest,
    B,
    DemoteRequest,
    ObservationRequest,
    OpenCaseRequest,
    PromoteRequest,
    RewardRequest,
    parse_request,
)
from thrifty.service.response_models import (
    AbandonResponse,
    ActivityResponse,
    CaseResponse,
    DecisionResponse,
    HealthResponse,
    PolicyResponse,
    PromotionResponse,
    ReadyResponse,
    RewardResponse,
    StatusResponse,
)


async def open_case(request: Request) -> Response:
    """Open a case: choose the features to buy for it, or the action."""
    policy = _path_name(request, "policy")
    write = _WriteRequest(request, OpenCaseRequest)
    new = NewCase(write.body.free, write.body.available, write.body.case_key)
    event = await write.engine.open_case(write.tenant, policy, new, write.key, write.digest)
    return write.respond(event, 201)


async def observe(request: Request) -> Response:
    """Report the result of a purchase: choose what to buy next, or the action."""
    case = _path_name(request, "case")
    write = _WriteRequest(request, ObservationRequest)
    body = write.body
    report = ObservationReport(body.values, body.costs, body.unavailable, body.available)
    event = await write.engine.observe(write.tenant, case, report, write.key, write.digest)
    return write.respond(event)


async def reward(request: Request) -> Response:
    """Report the reward or the outcome of a case, however late."""
    case = _path_name(request, "case")
    write = _WriteRequest(request, RewardRequest)
    amounts = write.body.reward, write.body.outcome
    event = await write.engine.reward(write.tenant, case, *amounts, write.key, write.digest)
    return write.respond(event)


async def abandon(request: Request) -> Response:
    """Close a case without a reward; the policy learns nothing from it."""
    case = _path_name(request, "case")
    write = _WriteRequest(request, AbandonRequest)
    return write.respond(await write.engine.abandon(write.tenant, case, write.key, write.digest))


async def promote(request: Request) -> Response:
    """Let a shadow act from now on; the policy that acted becomes a shadow."""
    policy = _path_name(request, "policy")
    write = _WriteRequest(request, PromoteRequest)
    shadow = write.body.shadow
    event = await write.engine.promote(write.tenant, policy, shadow, write.key, write.digest)
    return write.respond(event)


async def demote(request: Request) -> Response:
    """Go back to the policy that acted before the last promotion."""
    policy = _path_name(request, "policy")
    write = _WriteRequest(request, DemoteRequest)
    return write.respond(await write.engine.demote(write.tenant, policy, write.key, write.digest))


async def show_case(request: Request) -> Response:
    """Return the full history of a case, and the reasons for its decisions."""
    case = _path_name(request, "case")
    return _json(responses.case_view(*await _engine(request).case(_tenant(request), case)))


async def show_policies(request: Request) -> Response:
    """Return all policies."""
    engine, tenant = _engine(request), _tenant(request)
    return _json(
        [
            responses.policy_view(projection, leads=engine.leads(projection))
            for projection in engine.tenant_projections(tenant)
        ]
    )


async def show_policy(request: Request) -> Response:
    """Return a policy as declared, and its totals so far."""
    engine = _engine(request)
    projection = engine.projection(_tenant(request), _path_name(request, "policy"))
    return _json(responses.policy_view(projection, leads=engine.leads(projection)))


async def show_activity(request: Request) -> Response:
    """Return the data of the dashboard: sums over time, notices, open and late cases."""
    projection = _engine(request).projection(_tenant(request), _path_name(request, "policy"))
    return _json(responses.activity_view(projection))


async def show_status(request: Request) -> Response:
    """Return what a policy does at the moment: its plan, and what exploring has cost."""
    projection = _engine(request).projection(_tenant(request), _path_name(request, "policy"))
    panel = projection.panel
    status, beside = panel.policy.status(), responses.panel_view(panel)
    return _json(await run_in_threadpool(responses.status_view, projection.spec, status, beside))


async def show_metrics(request: Request) -> Response:
    """Return the metrics for Prometheus."""
    engine, metrics = _engine(request), request.app.state.metrics
    metrics.queue.set(engine.queue)
    metrics.ready.set(engine.ready)
    metrics.started.set(engine.started / 1e6)
    projections = engine.tenant_projections(_tenant(request))
    return Response(render_metrics(metrics, projections), media_type=CONTENT_TYPE)


async def health(request: Request) -> Response:
    """Return 200 while the process is running."""
    del request
    return _json({"status": "alive", "version": __version__})


async def readiness(request: Request) -> Response:
    """Return 200 if the service can decide and write."""
    engine = _engine(request)
    if not engine.ready:
        return _json(error_body("unavailable", engine.problem), 503)
    return _json({"status": "ready", "policies": len(engine.projections)})


_NOT_READY = {503: "The service cannot write; `message` says why."}
_CASE, _POLICY = "/v1/cases/{case}", "/v1/policies/{policy}"
OPERATIONS = (
    Operation("POST", f"{_POLICY}/cases", open_case, DecisionResponse, OpenCaseRequest, 201),
    Operation("POST", f"{_CASE}/observations", observe, DecisionResponse, ObservationRequest),
    Operation("POST", f"{_CASE}/reward", reward, RewardResponse, RewardRequest),
    Operation("POST", f"{_CASE}/abandon", abandon, AbandonResponse, AbandonRequest),
    Operation("POST", f"{_POLICY}/promote", promote, PromotionResponse, PromoteRequest),
    Operation("POST", f"{_POLICY}/demote", demote, PromotionResponse, DemoteRequest),
    Operation("GET", _CASE, show_case, CaseResponse),
    Operation("GET", "/v1/policies", show_policies, list[PolicyResponse]),
    Operation("GET", _POLICY, show_policy, PolicyResponse),
    Operation("GET", f"{_POLICY}/activity", show_activity, ActivityResponse),
    Operation("GET", f"{_POLICY}/status", show_status, StatusResponse),
    Operation("GET", "/metrics", show_metrics, str),
    Operation("GET", "/healthz", health, HealthResponse, errors={}),
    Operation("GET", "/readyz", readiness, ReadyResponse, errors=_NOT_READY),
)


class _WriteRequest(Generic[B]):
    """A request that writes an event: its tenant, idempotency key, body and digest."""

    def __init__(self, request: Request, model: type[B]) -> None:
        self.engine, self.tenant = _engine(request), _tenant(request)
        self.key = request.headers.get("idempotency-key", "")
        if not NAME.fullmatch(self.key):
            raise InvalidField(
                "Idempotency-Key",
                "send this header with 1 to 64 letters, digits, _ and -. It makes the request safe "
                "to repeat, so use a new one for each request.",
            )
        self.body, content = parse_request(model, request.scope["body"])
        text = json.dumps([request.scope["path"], content], sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def respond(self, event: Event, status: int = 200) -> Response:
        """Return the response for an event; a repeated request gets the same one."""
        spec = self.engine.projection(self.tenant, event.policy).spec
        return _json(responses.event_response(spec, event), status)


def _path_name(request: Request, field: str) -> str:
    name: str = request.path_params[field]
    if not NAME.fullmatch(name):
        raise InvalidField(field, "use 1 to 64 letters, digits, _ and -.")
    return name


def _engine(request: Request) -> Engine:
    return request.app.state.engine  # type: ignore[no-any-return]


def _tenant(request: Request) -> str:
    caller: Caller = request.scope["caller"]
    return caller.tenant


def _json(content: Any, status: int = 200) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(compact_json(content), status, headers, media_type="application/json")


def _route(operation: Operation) -> Route:
    route = Route(operation.path, operation.endpoint)
    route.methods = {operation.method}  # Starlette would add HEAD
    return route


def create_app(
    engine: Engine,
    keys: Keys | None = None,
    limits: RequestLimits = RequestLimits(),  # noqa: B008
) -> ServiceMiddleware:
    """Return the ASGI application that serves an engine.

    Parameters
    ----------
    engine : Engine
        Decides and writes. The application starts and stops it.
    keys : Keys, optional
        The API keys to accept. Without keys only requests to this machine's own names are served.
    limits : RequestLimits
        Limits on the size, duration and rate of requests.

    Returns
    -------
    ServiceMiddleware
        An ASGI application.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.stop()

    document = build_document(OPERATIONS, needs_keys=keys is not None)

    async def show_document(request: Request) -> Response:
        del request
        return _json(document)

    routes = [Route("/openapi.json", show_document), *dashboard.ROUTES]
    app = Starlette(routes=[*map(_route, OPERATIONS), *routes], lifespan=lifespan)
    app.router.redirect_slashes = False
    app.state.engine, app.state.metrics = engine, RequestMetrics()
    return ServiceMiddleware(app, keys, limits, app.state.metrics)
