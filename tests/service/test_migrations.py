"""A database of every released schema is kept here; each is upgraded, and its log still holds."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from postgres_server import PostgresServer
from service.desks import spec_of
from thrifty.errors import ThriftyError
from thrifty.service.auditing import audit
from thrifty.service.stores import Store, open_store
from thrifty.service.stores.schema import REVISION, metadata
from thrifty.service.stores.sqlite import SqliteStore

DATABASES = sorted((Path(__file__).parent / "databases").glob("*.db"))


def test_there_is_one_of_every_revision() -> None:
    assert DATABASES[-1].stem == REVISION


@pytest.mark.parametrize("path", DATABASES, ids=lambda it: it.stem)
def test_it_is_upgraded_and_its_log_holds(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "store.db"
    shutil.copy(path, copy)
    store = open_store(str(copy))
    found = audit(store, store.specs()[0])
    store.close()
    assert found.difference is None
    assert found.decisions == 40
    assert found.learnt == 15


def test_the_migrations_lead_to_the_tables_of_the_code(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    for address in (str(tmp_path / "store.db"), postgres.new_database()):
        store: Store = open_store(address)
        with store.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        store.close()


def test_a_store_from_the_future_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    store.declare(spec_of())
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()
    with pytest.raises(ThriftyError, match="does not know"):
        open_store(str(tmp_path / "store.db"))
    with pytest.raises(ThriftyError, match="this release reads"):
        open_store(str(tmp_path / "store.db"), read_only=True)
