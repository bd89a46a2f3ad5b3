"""Read tables as frames, and code their columns by the features of a problem."""
