"""A user's own table and price list: read, its columns understood, and coded for decisions."""

from thrifty.data.cases import Cases, PaidFeature, cases_of
from thrifty.data.reading import read_table
from thrifty.data.settings import Settings, read_settings

__all__ = ["Cases", "PaidFeature", "Settings", "cases_of", "read_settings", "read_table"]
