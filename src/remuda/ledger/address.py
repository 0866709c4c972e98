"""
Where a store on PostgreSQL is, said so that its password never shows.

The address is a URL as libpq takes it. One part of it is ours: `schema=NAME` names the schema that holds the tables, for
several Remudas in one database. Nothing here opens a connection.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from remuda.errors import BadInput

VARIABLE = "REMUDA_STORE"
SCHEMA = "remuda"
QUEUE_VARIABLE = "REMUDA_QUEUE"
QUEUE_SCHEMA = "remuda_queue"
_FORM = "postgresql://USER@HOST/DATABASE"
#: a name, an IPv6 address in brackets or the directory of a socket, and a port
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]*|(%2[Ff]|[\w.-])+)(:[0-9]{1,5})?")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SECRET_OPTIONS = ("password", "sslpassword")


@dataclass(frozen=True, slots=True, repr=False)
class PostgresAddress:
    """A database and the schema in it. As text it is without its password and options."""

    #: what libpq is given; never shown
    url: str
    schema: str
    shown: str
    secrets: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"PostgresAddress({self.shown})"

    def without_secrets(self, text: str) -> str:
        """A text of somebody else's, in which the password may stand."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def find_address(given: str | None, environ: Mapping[str, str]) -> PostgresAddress | None:
    """The address that was given, or that of the environment; None where the store is a file of the data directory."""
    if given:
        return read_address(given, "--store", environ)
    found = environ.get(VARIABLE)
    return read_address(found, VARIABLE, environ) if found else None


def find_queue(given: str | None, environ: Mapping[str, str]) -> PostgresAddress | None:
    """The address of the queue that hosts share, given or of the environment; None where the store has the queue."""
    text, origin = (given, "--queue") if given else (environ.get(QUEUE_VARIABLE), QUEUE_VARIABLE)
    return read_address(text, origin, environ, default=QUEUE_SCHEMA) if text else None


def read_address(
    text: str, origin: str, environ: Mapping[str, str] | None = None, *, default: str = SCHEMA
) -> PostgresAddress:
    """Read a URL; `BadInput` says what is wrong with that of `origin`, without repeating what may be a secret."""
    scheme, found, rest = text.partition("://")
    if not found or scheme not in ("postgresql", "postgres"):
        what = (
            "the job queue is in the store"
            if default == QUEUE_SCHEMA
            else "the store is a file in the data directory"
        )
        raise BadInput(f"{origin} wants {_FORM}; without it {what}")
    problem = BadInput(
        f"{origin} is no address of a database: write {_FORM}, and in a user's name or password % as %25, @ as %40,"
        " / as %2F, : as %3A, ? as %3F and # as %23"
    )
    if any(letter.isspace() or not letter.isprintable() for letter in rest):
        raise problem
    parts = urlsplit(f"{scheme}://{rest}")
    who, at, hosts = parts.netloc.rpartition("@")
    if "@" in who or parts.fragment or not all(_HOST.fullmatch(host) for host in hosts.split(",")):
        raise problem
    try:
        query = parse_qsl(parts.query, strict_parsing=bool(parts.query), keep_blank_values=True)
    except ValueError:
        raise problem from None
    schema = dict(query).get("schema", default)
    if not _SCHEMA.fullmatch(schema):
        raise BadInput(
            f"{origin}: {schema!r} cannot be a schema: use small letters, digits and underscores, as in schema=remuda_2"
        )
    options = [(name, value) for name, value in query if name != "schema"]
    user, colon, password = who.partition(":")
    secrets = {password, unquote(password), *(value for name, value in options if name in _SECRET_OPTIONS)}
    secrets.add((environ or {}).get("PGPASSWORD", ""))
    shown = f"postgresql://{user}{':***' if colon else ''}{at}{hosts}{parts.path}"
    if schema != default:
        shown += f"?schema={schema}"
    url = f"postgresql://{who}{at}{hosts}{parts.path}"
    if options:
        url += f"?{urlencode(options, quote_via=quote)}"
    # What is shorter than a word would take pieces out of every sentence.
    return PostgresAddress(
        url, schema, shown, tuple(sorted((each for each in secrets if len(each) > 2), key=len, reverse=True))
    )
