"""Optional dependencies: what to install if a package is missing."""

from __future__ import annotations


def missing_package_message(user: str, package: str | None, extra: str) -> str:
    """Return the message for a package that is not installed.

    >>> missing_package_message("thrifty.client", "httpx", "service")
    "thrifty.client needs the package 'httpx', which is not installed: pip install \
'thrifty[service]'."
    """
    return (
        f"{user} needs the package {package!r}, which is not installed: "
        f"pip install 'thrifty[{extra}]'."
    )
