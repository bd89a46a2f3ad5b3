"""Experiments: run policies in environments, and summarise the results."""
