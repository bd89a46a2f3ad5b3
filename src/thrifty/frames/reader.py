"""Read tables: CSV files, Parquet files, and DataFrames of pandas, polars and pyarrow."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
from narwhals.exceptions import NarwhalsError

from thrifty.errors import InvalidTable

SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_HEAD = 65_536
_EXCEL = "save it as CSV first (in Excel: File, Save As, CSV UTF-8)"
_BINARY_FORMATS = {
    b"PK\x03\x04": ("an Excel workbook or a zip archive", _EXCEL),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook", _EXCEL),
    b"\x1f\x8b": ("compressed with gzip", "decompress it first, for example with gunzip"),
    b"PAR1": ("a Parquet file", "rename it so that it ends with .parquet"),
}
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Parameters
    ----------
    frame : polars.DataFrame
        The table; all columns of a CSV file are text.
    notes : tuple of str
        What a reader should know about how the file was read, such as its separator.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()


def read_table(source: Any, *, encoding: str | None = None, separator: str | None = None) -> Table:
    """Read a CSV or Parquet file, or convert a DataFrame.

    Parameters
    ----------
    source : path, DataFrame or mapping
        A CSV or Parquet file, or a DataFrame of pandas, polars or pyarrow.
    encoding : str, optional
        Encoding of a CSV file; UTF-8 by default.
    separator : str, optional
        Separator of a CSV file; detected by default.

    Returns
    -------
    Table
        The table, and notes about how it was read.

    Raises
    ------
    InvalidTable
        If the file cannot be read; the message says how to correct it.

    Examples
    --------
    >>> table = read_table({"income": ["low", "high"], "outcome": ["no", "yes"]})
    >>> table.frame.shape
    (2, 2)
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() in {".parquet", ".pq"}:
            table = Table(_parquet(path))
        else:
            table = _csv(path, encoding, separator)
    else:
        table = Table(_frame(source))
    _require_cases(table.frame, source)
    return table


def _frame(source: Any) -> pl.DataFrame:
    if isinstance(source, dict):
        return _from_dict(source)
    try:
        frame: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
        return frame
    except TypeError as error:
        raise InvalidTable(
            f"a {type(source).__name__} is not a table: give the path of a CSV or Parquet file, or "
            "a DataFrame of pandas, polars or pyarrow."
        ) from error
    except (pl.exceptions.PolarsError, NarwhalsError, ValueError) as error:
        raise InvalidTable(
            f"the DataFrame cannot be read ({_first_line(error)}): give each column a "
            "unique name and values of one type."
        ) from error


def _from_dict(columns: dict[str, Any]) -> pl.DataFrame:
    try:
        return pl.DataFrame(columns)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"the table cannot be read ({_first_line(error)}): give every column as a list of "
            "values of one type, all of the same length."
        ) from error


def _parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{path} cannot be read as Parquet ({_first_line(error)}): check the path, or "
            "export the file again."
        ) from error


def _csv(path: Path, encoding: str | None, separator: str | None) -> Table:
    data, notes = _as_utf8(path, _bytes_of(path), encoding)
    if not data.strip():
        raise InvalidTable(f"{path} is empty: give a file with a header and one row per case.")
    header = data[:_HEAD].lstrip(b"\n\r").split(b"\n", 1)[0].decode("utf-8", "replace")
    if separator is not None and (len(separator) != 1 or separator in '\r\n"\0'):
        raise InvalidTable(
            f"the separator {separator!r} is not a single character: use for example ',' or ';'."
        )
    if separator is None:
        separator = _separator_of(data[:_HEAD].decode("utf-8", "replace"))
        if separator != ",":
            notes = (*notes, f"separator: {SEPARATOR_NAMES[separator]}")
    _require_header(path, header.rstrip("\r"), separator)
    try:
        # Types are recognised later, because polars does not parse currencies and decimal commas.
        frame = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InvalidTable(
            f"{path} cannot be read as a table ({_first_line(error)}): check that every row has as "
            f"many values as the header, {len(_names(header, separator))}, and that values which "
            f"contain {SEPARATOR_NAMES.get(separator, repr(separator))} are in quotes."
        ) from error
    return Table(frame.rename(str.strip), notes)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidTable(
            f"{path} cannot be read ({error.strerror or error}): check the path."
        ) from error


def _as_utf8(path: Path, data: bytes, encoding: str | None) -> tuple[bytes, tuple[str, ...]]:
    """Return the text as UTF-8 without a byte-order mark."""
    for signature, (format_, remedy) in _BINARY_FORMATS.items():
        if data.startswith(signature):
            raise InvalidTable(f"{path} is {format_}, not a CSV file: {remedy}.")
    if encoding is None:
        encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if encoding is not None:
        try:
            text = data.decode(encoding)
        except (LookupError, UnicodeError) as error:
            raise InvalidTable(
                f"{path} is not encoded as {encoding!r} ({error}): give the right encoding with "
                "--encoding, such as latin-1 or utf-8."
            ) from error
        return text.removeprefix("\ufeff").encode(), (f"encoding: {encoding}",)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTable(_not_utf8(path, data, error.start)) from error
    return data.removeprefix(b"\xef\xbb\xbf"), ()


def _not_utf8(path: Path, data: bytes, position: int) -> str:
    line = data.count(b"\n", 0, position) + 1
    before = data[data.rfind(b"\n", 0, position) + 1 : position]
    header = data[:_HEAD].split(b"\n", 1)[0].decode("latin-1").strip()
    separator = _separator_of(header)
    names = _names(header, separator)
    index = before.count(separator.encode())
    column = f"column {names[index]!r}" if index < len(names) else "a column"
    return (
        f"{path} is not UTF-8 (line {line}, {column}, byte 0x{data[position]:02x}): give its "
        "encoding, for example --encoding latin-1, or save it as UTF-8."
    )


def _names(header: str, separator: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]


def _separator_of(head: str) -> str:
    """Return the separator that splits the header into the most names."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    return max(SEPARATORS, key=lambda separator: len(_names(first, separator)))


def _require_header(path: Path, header: str, separator: str) -> None:
    names = _names(header, separator)
    if len(names) < 2:
        raise InvalidTable(
            f"{path} has only one column, {header[:60]!r}; a target and at least one feature are "
            "needed: if values are separated by an unusual character, give it, for example "
            "--separator ':'."
        )
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidTable(
                f"column {name!r} appears {times} times in the header of {path}; columns are "
                "identified by name: rename all but one."
            )
        if not name:
            raise InvalidTable(
                f"column {names.index(name) + 1} of {path} has no name; columns are identified by "
                "name: give it one in the first line."
            )


def _require_cases(frame: pl.DataFrame, source: Any) -> None:
    what = str(source) if isinstance(source, str | Path) else "the table"
    if frame.width < 2:
        raise InvalidTable(
            f"{what} has {frame.width} column(s); a target and at least one feature are needed: "
            "add columns."
        )
    if frame.height == 0:
        raise InvalidTable(
            f"{what} has a header ({', '.join(frame.columns[:5])}) but no cases: add one row per "
            "past case."
        )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
