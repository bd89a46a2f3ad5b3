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
from thrifty.service.decisions import Opening, Seen
from thrifty.service.engine import Desk
from thrifty.service.events import Event
from thrifty.service.http_errors import dumped, payload
from thrifty.service.metrics import CONTENT_TYPE, Meter, rendered
from thrifty.service.middleware import Gate, Limits
from thrifty.service.requests import (
    AbandonBody,
    B,
    Body,
    ObservationBody,
    OpeningBody,
    RewardBody,
    parse_body,
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


class Refused(BaseModel):
    """Why a request was refused; it has changed nothing."""

    error: str
    message: str
    field: str | None


_WRONG: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused, "description": text}
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
    status: {"model": Refused, "description": text}
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
            "required": body is not AbandonBody,
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


@_write("/v1/policies/{policy}/cases", OpeningBody, 201)
async def open_case(policy: Name, request: Request) -> Response:
    """Open a case: the policy chooses which features to buy for it or, if none, the action."""
    asked = _Asked(request, OpeningBody)
    given = Opening(asked.body.free, asked.body.available)
    event = await asked.desk.open_case(asked.tenant, policy, given, asked.key, asked.digest)
    return _json(responses.written(asked.desk.book(asked.tenant, policy).spec, event), 201)


@_write("/v1/cases/{case}/observations", ObservationBody)
async def observe(case: Name, request: Request) -> Response:
    """Report what came of a purchase: the policy chooses what to buy next, or the action."""
    asked = _Asked(request, ObservationBody)
    body = asked.body
    seen = Seen(body.values, body.costs, body.unavailable, body.available)
    event = await asked.desk.observe(asked.tenant, case, seen, asked.key, asked.digest)
    return asked.answer(event)


@_write("/v1/cases/{case}/reward", RewardBody)
async def reward(case: Name, request: Request) -> Response:
    """Report a reward or an outcome, whenever it comes."""
    asked = _Asked(request, RewardBody)
    told = asked.body.reward, asked.body.outcome
    event = await asked.desk.reward(asked.tenant, case, *told, asked.key, asked.digest)
    return asked.answer(event)


@_write("/v1/cases/{case}/abandon", AbandonBody)
async def abandon(case: Name, request: Request) -> Response:
    """Close a case without a reward: it teaches nothing."""
    asked = _Asked(request, AbandonBody)
    return asked.answer(await asked.desk.abandon(asked.tenant, case, asked.key, asked.digest))


@_read("/v1/cases/{case}")
async def show_case(case: Name, request: Request) -> Response:
    """Return everything known of a case, and why it was decided as it was."""
    spec, found = await _desk(request).case(_tenant(request), case)
    return _json(responses.case_view(spec, found))


@_read("/v1/policies")
async def show_policies(request: Request) -> Response:
    """Return the policies."""
    desk, tenant = _desk(request), _tenant(request)
    return _json(
        [
            responses.policy_view(book, leads=desk.leads(book))
            for (owner, _), book in desk.books.items()
            if owner == tenant
        ]
    )


@_read("/v1/policies/{policy}")
async def show_policy(policy: Name, request: Request) -> Response:
    """Return what a policy is and what it has done so far."""
    desk = _desk(request)
    book = desk.book(_tenant(request), policy)
    return _json(responses.policy_view(book, leads=desk.leads(book)))


@_read("/v1/policies/{policy}/activity")
async def show_activity(policy: Name, request: Request) -> Response:
    """Return what the dashboard draws: sums over time, what was noticed, open and late cases."""
    return _json(responses.activity_view(_desk(request).book(_tenant(request), policy)))


@_read("/metrics")
async def metrics(request: Request) -> Response:
    """Return the metrics for Prometheus."""
    desk, meter = _desk(request), request.app.state.meter
    meter.queue.set(desk.queue)
    meter.ready.set(desk.ready)
    meter.started.set(desk.started / 1e6)
    mine = [book for (owner, _), book in desk.books.items() if owner == _tenant(request)]
    return Response(rendered(meter, mine), media_type=CONTENT_TYPE)


@router.get("/healthz", response_model=None)
async def health(request: Request) -> Response:
    """Return 200 as long as the process answers."""
    del request
    return _json({"status": "alive", "version": __version__})


@router.get(
    "/readyz",
    response_model=None,
    responses={503: {"model": Refused, "description": "It cannot write; `message` says why."}},
)
async def readiness(request: Request) -> Response:
    """Return 200 if decisions can be made and written."""
    desk = _desk(request)
    if not desk.ready:
        return _json(payload("unavailable", desk.problem), 503)
    return _json({"status": "ready", "policies": len(desk.books)})


class _Asked(Generic[B]):
    """A request to write something: who asks for what, under which key."""

    def __init__(self, request: Request, kind: type[B]) -> None:
        self.desk, self.tenant = _desk(request), _tenant(request)
        self.key = request.headers.get("idempotency-key", "")
        if not NAME.fullmatch(self.key):
            raise InvalidField(
                "Idempotency-Key",
                "send this header with 1 to 64 letters, digits, _ and -: with it a request can be "
                "repeated safely, so use a new one for each.",
            )
        self.body, content = parse_body(kind, request.scope["body"])
        text = json.dumps([request.scope["path"], content], sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def answer(self, event: Event) -> Response:
        """Return what is said of an event; the same each time."""
        spec = self.desk.book(self.tenant, event.policy).spec
        return _json(responses.written(spec, event))


def _desk(request: Request) -> Desk:
    return request.app.state.desk  # type: ignore[no-any-return]


def _tenant(request: Request) -> str:
    caller: Caller = request.scope["caller"]
    return caller.tenant


def _json(content: Any, status: int = 200) -> Response:
    return Response(
        dumped(content), status, {"cache-control": "no-store"}, media_type="application/json"
    )


def create_app(
    desk: Desk,
    keys: Keys | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Callable[..., Any]:
    """Return the application of a desk; it starts and stops the desk with itself."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await desk.start()
        yield
        await desk.stop()

    app = FastAPI(
        title="Thrifty",
        summary="Ask what to buy, observe, act, and tell what came of it.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # their pages come from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk, app.state.meter = desk, Meter()
    app.router.routes[:0] = [*router.routes, *dashboard.ROUTES]
    if keys is not None:
        _document_keys(app)
    return Gate(app, keys, limits, app.state.meter)


def _document_keys(app: FastAPI) -> None:
    """Say in the document that a key is needed, and where."""
    document = app.openapi()
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["key"] = {"type": "http", "scheme": "bearer"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if needed_scope(method.upper(), path) is not None:
                operation["security"] = [{"key": []}]
