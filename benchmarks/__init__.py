"""How fast Thrifty is, and how it grows: `make bench` writes RESULTS.md."""
