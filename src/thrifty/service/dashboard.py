"""The dashboard: a page, its script and style, and the script of the installed plotly."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from thrifty.plans.picture import PICTURE_CSS

_FILES = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
}


@cache
def _read_page(name: str) -> str:
    return (resources.files("thrifty.service") / "pages" / name).read_text(encoding="utf-8")


async def show_page(request: Request) -> Response:
    """Return the page. It contains no data; its script requests them from the API."""
    del request
    return Response(_read_page("dashboard.html"), media_type="text/html")


async def show_file(request: Request) -> Response:
    """Return a script or style of the page. Plotly is served from here too, not from a CDN."""
    name = request.path_params["name"]
    if name == "plotly.min.js" and (script := _find_plotly()) is not None:
        cached = {"cache-control": "max-age=86400"}
        return FileResponse(script, media_type="text/javascript", headers=cached)
    if name not in _FILES:
        raise HTTPException(404)
    content = _read_page(name) + (PICTURE_CSS if name == "dashboard.css" else "")
    return Response(content, headers={"content-type": _FILES[name]})


def _find_plotly() -> Path | None:
    found = find_spec("plotly")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "package_data" / "plotly.min.js"


ROUTES = [Route("/", show_page), Route("/static/{name}", show_file)]
