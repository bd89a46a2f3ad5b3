"""Learning live with models: what Surveyor remembers, how it plans, explores and notices change."""
