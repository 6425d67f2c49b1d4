"""Addresses as Go programs, libpq and SQLAlchemy write them."""

from __future__ import annotations

from typing import Any

import pytest

from catenary_components.external.sql.address import Address, read_address
from catenary_components.external.sql.drivers import driver_for

FORMS: list[tuple[str, str, Address]] = [
    ("", "root:root@tcp(127.0.0.1:3306)/test", Address("mysql", "127.0.0.1", 3306, "root", "root", "test")),
    ("mysql", "u:p@/d", Address("mysql", "127.0.0.1", 3306, "u", "p", "d")),
    ("", "u:p@tcp(db)/d", Address("mysql", "db", 3306, "u", "p", "d")),
    ("", "u:p:@/#@tcp([::1]:33)/d?a=b", Address("mysql", "::1", 33, "u", "p:@/#", "d", {"a": "b"})),
    ("", "u@unix(/run/m.sock)/", Address("mysql", "/run/m.sock", 0, "u")),
    ("", "mariadb://u:p%40@h/d", Address("mysql", "h", 3306, "u", "p@", "d")),
    ("", "mysql+aiomysql://u:p@h:1/d?charset=latin1", Address("mysql", "h", 1, "u", "p", "d", {"charset": "latin1"})),
    ("", "mysql://u@/d?unix_socket=/run/m.sock", Address("mysql", "/run/m.sock", 0, "u", "", "d")),
    ("pgx", "postgres://u:p@h:5/d?sslmode=require", Address("postgres", "h", 5, "u", "p", "d", {"sslmode": "require"})),
    ("", "postgresql:///d?host=/run/pg", Address("postgres", "/run/pg", 5432, "", "", "d")),
    ("postgres", "host=h port=1 user=u password='a b' dbname=d", Address("postgres", "h", 1, "u", "a b", "d")),
    ("", "host = h dbname=d sslmode=disable", Address("postgres", "h", 5432, "", "", "d", {"sslmode": "disable"})),
    ("sqlite", "data/x.db", Address("sqlite", "", 0, database="data/x.db")),
    ("sqlite3", "file:x.db?cache=shared", Address("sqlite", "", 0, database="x.db", options={"cache": "shared"})),
    ("", "file:///srv/x.db", Address("sqlite", "", 0, database="/srv/x.db")),
    ("", "sqlite:///x.db", Address("sqlite", "", 0, database="x.db")),
    ("", "sqlite+aiosqlite:////srv/x.db", Address("sqlite", "", 0, database="/srv/x.db")),
    ("", "sqlite://", Address("sqlite", "", 0, database=":memory:")),
    ("", ":memory:", Address("sqlite", "", 0, database=":memory:")),
    ("sqlite", "file::memory:", Address("sqlite", "", 0, database=":memory:")),
]


@pytest.mark.parametrize(("driver", "dsn", "address"), FORMS, ids=[dsn for _, dsn, _ in FORMS])
def test_addresses_are_read(driver: str, dsn: str, address: Address) -> None:
    assert read_address(dsn, driver) == address
    assert driver_for(address).address is address


@pytest.mark.parametrize(
    ("driver", "dsn", "told"),
    [
        ("", "", "blank"),
        ("", "oracle://h/d", "oracle"),
        ("sqlite", "postgres://h/d", "driverName is sqlite"),
        ("postgres", "hidden-secret", "dbname="),
        ("postgres", "host=h password='hidden-secret", "quote"),
        ("postgres", "host=h port=hidden-secret", "port"),
        ("", "u:hidden-secret@tcp(h:x)/d", "port"),
        ("", "u:hidden-secret@tcp(h)", "dsn must be"),
        ("", "postgres://u:hidden-secret@h:x/d", "URL"),
    ],
)
def test_what_is_no_address_is_told_without_quoting_it(driver: str, dsn: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        read_address(dsn, driver)
    assert "hidden-secret" not in str(refused.value)


def test_the_password_is_not_seen() -> None:
    address = read_address("u:hidden-secret@tcp(h)/d")
    assert "hidden-secret" not in f"{address!r} {address.place}"
    assert address.place == "h:3306/d"


@pytest.mark.parametrize(
    ("dsn", "told"),
    [
        ("postgres://h/d?sslmode=maybe", "sslmode"),
        ("postgres://h/d?connect_timeout=soon", "timeout"),
        ("u@tcp(h)/d?tls=maybe", "tls"),
        ("u@tcp(h)/d?a-b=1", "a-b"),
    ],
)
def test_options_that_cannot_be_used_are_told(dsn: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        driver_for(read_address(dsn))


@pytest.mark.parametrize("mode", ["disable", "prefer", "require", "verify-ca", "verify-full"])
def test_postgres_speaks_tls_as_it_is_told(mode: str) -> None:
    driver: Any = driver_for(read_address(f"postgres://h/d?sslmode={mode}"))
    verifies = {"verify-ca": False, "verify-full": True}
    if mode in verifies:
        assert driver._ssl.check_hostname == verifies[mode]
    else:
        assert driver._ssl == (mode if mode != "disable" else False)


@pytest.mark.parametrize(
    ("mode", "checks"), [("true", True), ("skip-verify", False), ("preferred", False), ("false", None)]
)
def test_mysql_speaks_tls_as_it_is_told(mode: str, checks: bool | None) -> None:
    driver: Any = driver_for(read_address(f"u@tcp(h)/d?tls={mode}"))
    assert (driver._ssl.check_hostname if driver._ssl else None) == checks
