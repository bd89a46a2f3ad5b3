"""Which features are worth their price: sets valued out of fold, and the stream replayed."""
