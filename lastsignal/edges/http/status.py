"""What the server asks of the daemon, and what it is told to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lastsignal.core.addresses import Address
from lastsignal.core.incidents import Incident
from lastsignal.errors import UsageError


class Status(Protocol):
    """How the daemon stands; asked on the event loop, so nothing here may wait."""

    @property
    def version(self) -> str:
        """Return the version of Last Signal."""

    def not_ready(self) -> Sequence[str]:
        """Return why the daemon is not what it should be; nothing where all is well."""

    def incidents(self) -> Iterable[Incident]:
        """Return the incidents that are open or in the history."""

    def facts(self) -> Mapping[str, str | int | float | bool | None]:
        """Return what else the status page says, by name."""

    async def reload(self) -> Sequence[str]:
        """Read rules and configuration again; return why the former ones stay, if they do."""


DEFAULT_LISTEN = Address("127.0.0.1", 9787)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How HTTP is served."""

    listen: Address = DEFAULT_LISTEN
    token: str | None = field(default=None, repr=False)
    """The bearer token that all but health checks need."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    hosts: tuple[str, ...] = ()
    """Names, besides addresses and localhost, that requests without a token may ask for."""
    reload: bool = True
    """Whether `POST /-/reload` does it."""
    max_connections: int = 100


class HttpError(UsageError):
    """HTTP cannot be served as it is configured."""


def check_protection(settings: HttpSettings) -> None:
    """Refuse an address that other machines reach and nothing protects.

    Raises:
        HttpError: that is so.
    """
    if not settings.listen.is_loopback and settings.token is None and settings.tls_cert is None:
        raise HttpError(
            f"{settings.listen}: other machines reach this address, and nothing protects it;"
            " set a token, or a TLS certificate and key, or listen on 127.0.0.1"
        )
