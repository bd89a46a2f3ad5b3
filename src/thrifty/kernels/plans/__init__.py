"""Search for the comparisons of a plan."""
