"""The decision service: decides live, learns late, and loses nothing.

The log of events is the truth. What a policy knows is a fold over it (`books`), decisions are pure
functions of that and of the case (`decisions`), and the desk brings both together (`desk`). Below
are the stores; above, HTTP (`api`) and the dashboard.
"""
