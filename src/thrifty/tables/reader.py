"""Tables as their owners have them: CSV, Parquet, or a DataFrame of another library."""

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
NAMES_OF_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_HEAD = 65_536
_PACKED = {
    b"PK\x03\x04": "a workbook or a zip archive",
    b"\x1f\x8b": "packed with gzip",
    b"PAR1": "a Parquet file with another ending",
}
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read; the columns of a CSV file are text still."""

    frame: pl.DataFrame
    said: tuple[str, ...] = ()
    """What was noticed and done while reading, in words."""


def read_table(source: Any, *, encoding: str | None = None, separator: str | None = None) -> Table:
    """Read a CSV or Parquet file, or take a DataFrame of pandas, polars or pyarrow.

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
        return pl.DataFrame(source)
    try:
        frame: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
        return frame
    except TypeError as error:
        raise InvalidTable(
            f"a {type(source).__name__} is no table: give the path of a CSV or Parquet file, or a "
            "DataFrame of pandas, polars or pyarrow."
        ) from error
    except (pl.exceptions.PolarsError, NarwhalsError, ValueError) as error:
        raise InvalidTable(
            f"the DataFrame cannot be read ({_first_line(error)}): give each column one type and "
            "a name of its own."
        ) from error


def _parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{path} cannot be read as Parquet ({_first_line(error)}): check the path, or write "
            "the file again."
        ) from error


def _csv(path: Path, encoding: str | None, separator: str | None) -> Table:
    data, said = _as_utf8(path, _bytes_of(path), encoding)
    if not data.strip():
        raise InvalidTable(f"{path} is empty: give a file with a header and a row for each case.")
    header = data[:_HEAD].lstrip(b"\n\r").split(b"\n", 1)[0].decode("utf-8", "replace")
    if separator is not None and (len(separator) != 1 or separator in '\r\n"\0'):
        raise InvalidTable(
            f"separator {separator!r}: values are separated by one character, such as ',' or ';'."
        )
    if separator is None:
        separator = _separator_of(data[:_HEAD].decode("utf-8", "replace"))
        if separator != ",":
            said = (*said, f"values are separated by {NAMES_OF_SEPARATORS[separator]}")
    _require_header(path, header.rstrip("\r"), separator)
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InvalidTable(
            f"{path} cannot be read as a table ({_first_line(error)}): every row needs as many "
            f"values as the header, {len(_names(header, separator))}, separated by "
            f"{NAMES_OF_SEPARATORS.get(separator, separator)}; quote values that hold one."
        ) from error
    return Table(frame.rename(str.strip), said)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidTable(
            f"{path} cannot be read ({error.strerror or error}): check the path."
        ) from error


def _as_utf8(path: Path, data: bytes, encoding: str | None) -> tuple[bytes, tuple[str, ...]]:
    """Return the text as UTF-8 without a byte-order mark."""
    for head, what in _PACKED.items():
        if data.startswith(head):
            raise InvalidTable(
                f"{path} is {what}, not text: unpack it, or save the table as CSV or Parquet."
            )
    if encoding is None:
        encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if encoding is not None:
        try:
            text = data.decode(encoding)
        except (LookupError, UnicodeError) as error:
            raise InvalidTable(
                f"{path} is not in the encoding {encoding!r} ({error}): give the right one."
            ) from error
        return text.removeprefix("\ufeff").encode(), (f"the encoding is {encoding}",)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTable(_not_utf8(path, data, error.start)) from error
    return data.removeprefix(b"\xef\xbb\xbf"), ()


def _not_utf8(path: Path, data: bytes, place: int) -> str:
    line = data.count(b"\n", 0, place) + 1
    before = data[data.rfind(b"\n", 0, place) + 1 : place]
    header = data[:_HEAD].split(b"\n", 1)[0].decode("latin-1").strip()
    separator = _separator_of(header)
    names = _names(header, separator)
    position = before.count(separator.encode())
    column = f"column {names[position]!r}" if position < len(names) else "a column"
    return (
        f"{path} is not UTF-8 (line {line}, {column}, byte 0x{data[place]:02x}): say which "
        "encoding it has, such as --encoding latin-1, or save it as UTF-8."
    )


def _names(header: str, separator: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]


def _separator_of(head: str) -> str:
    """Return the separator that divides the header into most names."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    return max(SEPARATORS, key=lambda it: len(_names(first, it)))


def _require_header(path: Path, header: str, separator: str) -> None:
    names = _names(header, separator)
    if len(names) < 2:
        raise InvalidTable(
            f"{path} has one column, {header[:60]!r}: a table has a target and something to buy. "
            "If its values are separated by something unusual, say by what: --separator ':'."
        )
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidTable(
                f"column {name!r} stands {times} times in the header of {path}: a name must mean "
                "one column, rename the others."
            )
        if not name:
            raise InvalidTable(
                f"column {names.index(name) + 1} of {path} has no name: prices and reports go by "
                "name, so give it one in the first line."
            )


def _require_cases(frame: pl.DataFrame, source: Any) -> None:
    what = str(source) if isinstance(source, str | Path) else "the table"
    if frame.width < 2:
        raise InvalidTable(
            f"{what} has {frame.width} columns: a table has a target and something to buy."
        )
    if frame.height == 0:
        raise InvalidTable(
            f"{what} has a header, {', '.join(frame.columns[:5])}, and no cases: give past cases, "
            "a row for each."
        )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
