"""The work of `thrifty serve`, in a module of its own because its imports are slow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import typer

from thrifty.commands.policy_files import read_complete_spec
from thrifty.commands.startup_notice import notice_if_slow
from thrifty.service.access import Keys, read_keys
from thrifty.service.api import create_app
from thrifty.service.engine import Engine
from thrifty.service.middleware import RequestLimits
from thrifty.service.served_policy import EngineSettings
from thrifty.service.server import make_server, require_free, require_safe, require_usable
from thrifty.service.standby import get_ready, open_when_free
from thrifty.service.stores import Store, open_store
from thrifty.specification import PolicySpec

PORT_SECONDS = 5.0
"""How long a standby waits for the port: the first process closes its store before its port."""


@dataclass(frozen=True)
class ServeOptions:
    """The options of `thrifty serve`."""

    policies: Sequence[Path]
    store: str
    host: str
    port: int
    keys: Path | None
    rate: float
    most_open: int
    standby: bool


def serve_until_stopped(options: ServeOptions, on_ready: Callable[[], None]) -> None:
    """Serve until a signal stops the process; call `on_ready` when everything is loaded."""
    keys = _read_keys(options)
    require_safe(options.host, keys)
    (require_usable if options.standby else require_free)(options.host, options.port)
    specs = [read_complete_spec(path) for path in options.policies]
    with closing(_open(options, specs, on_ready)) as store:
        if options.standby:
            require_free(options.host, options.port, patience=PORT_SECONDS)
            keys = _read_keys(options)  # the file may have changed while this process waited
        with notice_if_slow():
            engine = Engine(store, specs, EngineSettings(max_open=options.most_open))
        projections = engine.projections.values()
        names = ", ".join(sorted(name for _, name in engine.projections)) or "no policy"

        def announce(url: str) -> None:
            on_ready()
            typer.echo(f"Serving {names} on {url}")
            for line in deadline_lines(projection.spec for projection in projections):
                typer.echo(line)

        app = create_app(engine, keys, RequestLimits(rate=options.rate))
        make_server(app, options.host, options.port, announce).run()


def deadline_lines(specs: Iterable[PolicySpec]) -> list[str]:
    """Return a line per deadline after which rewards are not learnt, with its policies."""
    names: dict[float, list[str]] = {}
    for spec in specs:
        if not spec.rule.learn_late:
            names.setdefault(spec.rule.deadline, []).append(spec.name)
    return [
        f"Rewards reported more than {_duration(deadline)} after a case is opened are not learnt "
        f"({', '.join(sorted(names[deadline]))}: [reward_rule] deadline)."
        for deadline in sorted(names)
    ]


def _duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits.

    >>> _duration(604800), _duration(5400), _duration(0.5)
    ('7 days', '1.5 hours', '0.5 seconds')
    """
    units = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
    unit = next((unit for unit, size in units.items() if seconds >= size), "second")
    return f"{seconds / units[unit]:g} {unit}" + ("" if seconds == units[unit] else "s")


def _read_keys(options: ServeOptions) -> Keys | None:
    return None if options.keys is None else read_keys(options.keys)


def _open(
    options: ServeOptions, specs: Sequence[PolicySpec], on_ready: Callable[[], None]
) -> Store:
    if not options.standby:
        return open_store(options.store)

    def on_wait() -> None:
        on_ready()
        typer.echo(f"Standing by: another process holds {options.store}.")

    with notice_if_slow():
        get_ready(options.store, specs)
    return open_when_free(options.store, on_wait)
