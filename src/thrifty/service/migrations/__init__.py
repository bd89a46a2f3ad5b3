"""The way from every released schema to the present one, by Alembic."""
