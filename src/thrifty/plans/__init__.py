"""Plans: what to look at first, what to look at next, and when to stop and act."""
