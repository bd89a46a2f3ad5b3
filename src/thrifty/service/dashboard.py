"""The dashboard: one page, its script and style, and plotly's script from the installed package."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

_FILES = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
}


@cache
def _text(name: str) -> str:
    return (resources.files("thrifty.service") / "pages" / name).read_text(encoding="utf-8")


async def page(request: Request) -> Response:
    """Return the page; it holds no data, its script asks for them."""
    del request
    return Response(_text("dashboard.html"), media_type="text/html")


async def static(request: Request) -> Response:
    """Return the page's script or style, or plotly's own script: no other host is asked."""
    name = request.path_params["name"]
    if name == "plotly.min.js" and (script := _plotly()) is not None:
        cached = {"cache-control": "max-age=86400"}
        return FileResponse(script, media_type="text/javascript", headers=cached)
    if name not in _FILES:
        raise HTTPException(404)
    return Response(_text(name), headers={"content-type": _FILES[name]})


def _plotly() -> Path | None:
    found = find_spec("plotly")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "package_data" / "plotly.min.js"


ROUTES = [Route("/", page), Route("/static/{name}", static)]
