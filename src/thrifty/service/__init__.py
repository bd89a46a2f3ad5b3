"""The decision service: HTTP endpoints that decide live and learn from late rewards.

Everything that happens is an event in an append-only log (`events`, `stores`). The state of a
policy is computed from its events alone (`projection`), and a decision is a pure function of that
state and of the case (`decisions`). The `engine` connects the two; `api` serves it over HTTP.
"""
