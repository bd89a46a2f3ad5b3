"""A user's own table: read, its columns understood, and coded for decisions."""

from thrifty.tables.cases import Cases, cases_of
from thrifty.tables.descriptions import policy_file_of
from thrifty.tables.paid_prices import PaidFeature, level_of
from thrifty.tables.reader import read_table

__all__ = ["Cases", "PaidFeature", "cases_of", "level_of", "policy_file_of", "read_table"]
