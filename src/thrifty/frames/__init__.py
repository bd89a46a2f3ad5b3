"""Read tables as frames, and code their columns by the features of a problem."""

from importlib.util import find_spec

from thrifty.extras import missing_package_message

for _package in ("narwhals", "polars"):
    if find_spec(_package) is None:
        raise ModuleNotFoundError(
            missing_package_message("reading a table", _package, "worth"), name=_package
        )
