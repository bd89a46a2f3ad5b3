"""Scout."""
