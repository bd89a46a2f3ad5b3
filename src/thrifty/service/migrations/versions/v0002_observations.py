"""Events of the kind 'acted' are called 'observed', since a case may have several of them."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Rename the kind; what the events say stays as it is."""
    op.execute("UPDATE events SET kind = 'observed' WHERE kind = 'acted'")
