"""Addresses of tables in databases. Passwords are never shown.

``sqlite:///people.db?table=people`` (three slashes and a relative path, four and an absolute one) and
``postgresql://user@host/base?table=people``; ``query=`` may replace ``table=``.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard
from urllib.parse import quote, unquote

from discreet.errors import DataSourceError, InvalidArgument

_KINDS = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}
#: User and password, as PostgreSQL finds them; and what a slash or another @ in a password leaves over.
_USER = re.compile(r"([^@/]*@)?([^?]*@)?")
_EXAMPLE = "sqlite:///people.db?table=people"


def is_address(text: object) -> TypeGuard[str]:
    """Return whether a text names a database rather than a file."""
    found = re.match(r"([A-Za-z][\w+.-]+)://", text) if isinstance(text, str) else None
    if found is not None and found[1].lower() not in _KINDS:
        # No more of it: there may be a password.
        expected = "a file, or an address that begins with sqlite:// or postgresql://"
        raise InvalidArgument("data", found[0], expected, repr(_EXAMPLE))
    return found is not None


def without_password(text: str) -> str:
    """Return the address of a database without its password; the same text if it holds none."""
    scheme, mark, rest = text.partition("://")
    user = _USER.match(rest)[0]  # type: ignore[index]  # it matches every text
    place, _, asked = rest[len(user) :].partition("?")
    kept = [part for part in asked.split("&") if part and not part.startswith(("password=", "sslpassword="))]
    name = user.partition(":")[0] + "@" if ":" in user else user
    return f"{scheme}{mark}{name}{place}" + ("?" + "&".join(kept) if kept else "")


@dataclass(frozen=True)
class Address:
    """A database and the rows to read."""

    kind: str
    uri: str  # may hold a password: neither an error nor a release may show it
    table: str
    query: str
    secret: bool  # it holds one

    def __repr__(self) -> str:
        return f"Address(kind={self.kind!r})"


def read_address(text: str, *, table: str = "", query: str = "") -> Address:
    """Take an address apart. The table or query is part of it, or is given separately."""
    scheme, _, rest = text.partition("://")
    place, _, asked = rest.partition("?")
    kept, found = [], {"table": table, "query": query}
    for part in filter(None, asked.split("&")):
        name, _, value = part.partition("=")
        if name in found and not found[name]:
            found[name] = unquote(value)
        else:
            kept.append(part)
    if bool(found["table"].strip()) == bool(found["query"].strip()):
        raise InvalidArgument("data", "a database", "an address with either table= or query=", repr(_EXAMPLE))
    kind = _KINDS[scheme.lower()]
    if kind == "sqlite":
        if not place.startswith("/") or len(place) < 2:
            raise InvalidArgument(
                "data", "an address of SQLite", "written with three slashes and a path", repr(_EXAMPLE)
            )
        return Address(kind, unquote(place[1:]), found["table"], found["query"], False)
    uri = f"postgresql://{place}" + ("?" + "&".join(kept) if kept else "")
    return Address(kind, uri, found["table"], found["query"], without_password(text) != text)


def table_place(text: str, folder: Path) -> str:
    """Return a table of a job as it is to be opened: relative paths, also of SQLite, start at the job's folder."""
    if not is_address(text):
        return str(folder / Path(text).expanduser())
    found = read_address(text)
    if found.secret:
        # Jobs are kept, printed and put on pages; command lines are in the list of processes.
        raise DataSourceError(
            "data: an address with a password in it would be kept with the job; leave the password out and set "
            "PGPASSWORD, or write it into a .pgpass file"
        )
    if found.kind != "sqlite":
        return text
    path = folder / Path(found.uri).expanduser()
    return f"sqlite:///{quote(str(path))}?{text.partition('?')[2]}"
