"""Values for JSON: numpy becomes plain Python, and NaN and infinity become null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_json_value(value: Any, *, allow_nan: bool = False) -> Any:
    """Return a value made of dicts, lists and plain Python values only.

    Parameters
    ----------
    value : Any
        Mappings, lists, tuples, numpy arrays and scalars, at any depth.
    allow_nan : bool
        False replaces NaN and infinity, which JSON does not have, with None.

    Returns
    -------
    Any
        The same content as dicts, lists, strings, numbers, booleans and None.

    Examples
    --------
    >>> to_json_value({"values": np.array([1.5, np.inf]), "count": np.int64(2)})
    {'values': [1.5, None], 'count': 2}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: to_json_value(part, allow_nan=allow_nan) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(part, allow_nan=allow_nan) for part in value]
    if isinstance(value, float) and not (allow_nan or math.isfinite(value)):
        return None
    return value


def compact_json(value: Any) -> str:
    """Return JSON without spaces; NaN and infinity raise `ValueError`.

    >>> compact_json({"a": [1, None]})
    '{"a":[1,null]}'
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
