"""The HTTP interface; /openapi.json of a running service describes all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Generic

from fastapi import APIRouter, FastAPI, Path, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from thrifty._version import __version__
from thrifty.errors import InvalidField
from thrifty.service import dashboard, responses
from thrifty.service.access import NAME, Caller, Keys, needed_scope
from thrifty.service.decisions import NewCase, ObservationReport
from thrifty.service.engine import Engine
from thrifty.service.events import Event
from thrifty.service.http_errors import dumped, payload
from thrifty.service.metrics import CONTENT_TYPE, RequestMetrics, rendered
from thrifty.service.middleware import RequestLimits, ServiceMiddleware
from thrifty.service.requests import (
    AbandonRequest,
    B,
    Body,
    ObservationRequest,
    OpenCaseRequest,
    RewardRequest,
    parse_request,
)


class Route(APIRoute):
    """Documents an endpoint as FastAPI does, and calls it directly: it checks what it takes itself.

    The way through dependencies and exit stacks takes longer than the decision.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        names = list(self.param_convertors)

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            given = [_require_name(name, scope["path_params"][name]) for name in names]
            response = await endpoint(*given, request)
            await response(scope, receive, send)

        self.app = call


router = APIRouter(route_class=Route)

Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$")]


def _require_name(field: str, given: str) -> str:
    if not NAME.fullmatch(given):
        raise InvalidField(field, "use 1 to 64 letters, digits, _ and -.")
    return given


class ErrorResponse(BaseModel):
    """Why a request was refused; it has changed nothing."""

    error: str
    message: str
    field: str | None


_WRONG: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text}
    for status, text in {
        401: "No key was shown, or an unknown one.",
        403: "The key is not for this.",
        404: "There is no such policy or case.",
        422: "The request cannot be used; `field` names what is wrong.",
        429: "Too many requests, or too many open cases.",
        503: "The store cannot be written or read at the moment; try again.",
    }.items()
}
_WRITE_WRONG = _WRONG | {
    status: {"model": ErrorResponse, "description": text}
    for status, text in {
        408: "The body took too long to arrive.",
        409: "Not at this stage of the case, or the key stands for another request.",
        413: "The body is too large.",
        415: "The body is not JSON.",
    }.items()
}


def _documented(body: type[Body]) -> dict[str, Any]:
    """Return what a write takes: its body, and the idempotency key."""
    return {
        "requestBody": {
            "content": {"application/json": {"schema": body.model_json_schema()}},
            "required": body is not AbandonRequest,
        },
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": True,
                "description": "The same key and body give the same answer, however often.",
                "schema": {"type": "string", "pattern": f"^{NAME.pattern}$"},
            }
        ],
    }


def _write(path: str, body: type[Body], status: int = 200) -> Callable[..., Any]:
    return router.post(
        path,
        status_code=status,
        responses=_WRITE_WRONG,
        openapi_extra=_documented(body),
        response_model=None,
    )


def _read(path: str, **more: Any) -> Callable[..., Any]:
    return router.get(path, responses=_WRONG, response_model=None, **more)


@_write("/v1/policies/{policy}/cases", OpenCaseRequest, 201)
async def open_case(policy: Name, request: Request) -> Response:
    """Open a case: the policy chooses which features to buy for it or, if none, the action."""
    asked = _WriteRequest(request, OpenCaseRequest)
    given = NewCase(asked.body.free, asked.body.available)
    event = await asked.engine.open_case(asked.tenant, policy, given, asked.key, asked.digest)
    return _json(responses.written(asked.engine.projection(asked.tenant, policy).spec, event), 201)


@_write("/v1/cases/{case}/observations", ObservationRequest)
async def observe(case: Name, request: Request) -> Response:
    """Report what came of a purchase: the policy chooses what to buy next, or the action."""
    asked = _WriteRequest(request, ObservationRequest)
    body = asked.body
    seen = ObservationReport(body.values, body.costs, body.unavailable, body.available)
    event = await asked.engine.observe(asked.tenant, case, seen, asked.key, asked.digest)
    return asked.answer(event)


@_write("/v1/cases/{case}/reward", RewardRequest)
async def reward(case: Name, request: Request) -> Response:
    """Report a reward or an outcome, whenever it comes."""
    asked = _WriteRequest(request, RewardRequest)
    told = asked.body.reward, asked.body.outcome
    event = await asked.engine.reward(asked.tenant, case, *told, asked.key, asked.digest)
    return asked.answer(event)


@_write("/v1/cases/{case}/abandon", AbandonRequest)
async def abandon(case: Name, request: Request) -> Response:
    """Close a case without a reward: it teaches nothing."""
    asked = _WriteRequest(request, AbandonRequest)
    return asked.answer(await asked.engine.abandon(asked.tenant, case, asked.key, asked.digest))


@_read("/v1/cases/{case}")
async def show_case(case: Name, request: Request) -> Response:
    """Return everything known of a case, and why it was decided as it was."""
    spec, found = await _engine(request).case(_tenant(request), case)
    return _json(responses.case_view(spec, found))


@_read("/v1/policies")
async def show_policies(request: Request) -> Response:
    """Return the policies."""
    engine, tenant = _engine(request), _tenant(request)
    return _json(
        [
            responses.policy_view(projection, leads=engine.leads(projection))
            for (owner, _), projection in engine.projections.items()
            if owner == tenant
        ]
    )


@_read("/v1/policies/{policy}")
async def show_policy(policy: Name, request: Request) -> Response:
    """Return what a policy is and what it has done so far."""
    engine = _engine(request)
    projection = engine.projection(_tenant(request), policy)
    return _json(responses.policy_view(projection, leads=engine.leads(projection)))


@_read("/v1/policies/{policy}/activity")
async def show_activity(policy: Name, request: Request) -> Response:
    """Return what the dashboard draws: sums over time, what was noticed, open and late cases."""
    return _json(responses.activity_view(_engine(request).projection(_tenant(request), policy)))


@_read("/metrics")
async def metrics(request: Request) -> Response:
    """Return the metrics for Prometheus."""
    engine, meter = _engine(request), request.app.state.meter
    meter.queue.set(engine.queue)
    meter.ready.set(engine.ready)
    meter.started.set(engine.started / 1e6)
    mine = [
        projection
        for (owner, _), projection in engine.projections.items()
        if owner == _tenant(request)
    ]
    return Response(rendered(meter, mine), media_type=CONTENT_TYPE)


@router.get("/healthz", response_model=None)
async def health(request: Request) -> Response:
    """Return 200 as long as the process answers."""
    del request
    return _json({"status": "alive", "version": __version__})


@router.get(
    "/readyz",
    response_model=None,
    responses={
        503: {"model": ErrorResponse, "description": "It cannot write; `message` says why."}
    },
)
async def readiness(request: Request) -> Response:
    """Return 200 if decisions can be made and written."""
    engine = _engine(request)
    if not engine.ready:
        return _json(payload("unavailable", engine.problem), 503)
    return _json({"status": "ready", "policies": len(engine.projections)})


class _WriteRequest(Generic[B]):
    """A request to write something: who asks for what, under which key."""

    def __init__(self, request: Request, kind: type[B]) -> None:
        self.engine, self.tenant = _engine(request), _tenant(request)
        self.key = request.headers.get("idempotency-key", "")
        if not NAME.fullmatch(self.key):
            raise InvalidField(
                "Idempotency-Key",
                "send this header with 1 to 64 letters, digits, _ and -: with it a request can be "
                "repeated safely, so use a new one for each.",
            )
        self.body, content = parse_request(kind, request.scope["body"])
        text = json.dumps([request.scope["path"], content], sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def answer(self, event: Event) -> Response:
        """Return what is said of an event; the same each time."""
        spec = self.engine.projection(self.tenant, event.policy).spec
        return _json(responses.written(spec, event))


def _engine(request: Request) -> Engine:
    return request.app.state.engine  # type: ignore[no-any-return]


def _tenant(request: Request) -> str:
    caller: Caller = request.scope["caller"]
    return caller.tenant


def _json(content: Any, status: int = 200) -> Response:
    return Response(
        dumped(content), status, {"cache-control": "no-store"}, media_type="application/json"
    )


def create_app(
    engine: Engine,
    keys: Keys | None = None,
    limits: RequestLimits = RequestLimits(),  # noqa: B008
) -> Callable[..., Any]:
    """Return the application of a engine; it starts and stops the engine with itself."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.stop()

    app = FastAPI(
        title="Thrifty",
        summary="Ask what to buy, observe, act, and tell what came of it.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # their pages come from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.engine, app.state.meter = engine, RequestMetrics()
    app.router.routes[:0] = [*router.routes, *dashboard.ROUTES]
    if keys is not None:
        _document_keys(app)
    return ServiceMiddleware(app, keys, limits, app.state.meter)


def _document_keys(app: FastAPI) -> None:
    """Say in the document that a key is needed, and where."""
    document = app.openapi()
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["key"] = {"type": "http", "scheme": "bearer"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if needed_scope(method.upper(), path) is not None:
                operation["security"] = [{"key": []}]
