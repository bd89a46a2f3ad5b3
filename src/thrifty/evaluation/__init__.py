"""Estimate what a policy would gain, from the log of another policy."""
