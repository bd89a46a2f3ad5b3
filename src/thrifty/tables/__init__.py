"""Read a table of past cases and code its columns for policies."""

from thrifty.frames.reader import read_table
from thrifty.tables.cases import Cases, read_cases
from thrifty.tables.completion import complete_policy_file
from thrifty.tables.features import TableFeature, level_of

__all__ = ["Cases", "TableFeature", "complete_policy_file", "level_of", "read_cases", "read_table"]
