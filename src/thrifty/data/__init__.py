"""A user's own table: read, its columns understood, and coded for decisions."""

from thrifty.data.cases import Cases, cases_of
from thrifty.data.describing import policy_file_of
from thrifty.data.paid import PaidFeature, level_of
from thrifty.data.reading import read_table

__all__ = ["Cases", "PaidFeature", "cases_of", "level_of", "policy_file_of", "read_table"]
