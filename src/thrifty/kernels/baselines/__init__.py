"""Policies of a page or less."""
