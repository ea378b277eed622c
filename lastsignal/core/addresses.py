"""Network addresses as people write them, and which of them only this machine can reach."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port to listen on."""

    host: str
    """A name or an IP address, without brackets."""
    port: int
    """0 for any that is free."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str) -> Address:
    """Return the address of `host:port` or `[::1]:port`.

    Raises:
        ValueError: it is neither.
    """
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"`{text}` is no address; write an IPv6 host in brackets, e.g. [::1]:9787")
    if not colon or not host or not (port.isascii() and port.isdecimal()):
        raise ValueError(f"`{text}` is no address; write host:port, e.g. 127.0.0.1:9787")
    if int(port) > 65535:
        raise ValueError(f"`{text}`: there is no port {port}; the highest is 65535")
    return Address(host, int(port))
