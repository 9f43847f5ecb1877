"""Which addresses providers of models and receivers of webhooks may have where the operator forbids private ones."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class PrivateAddressError(Exception):
    """A request would go to where it must not."""


def is_public(address: str) -> bool:
    """Whether an IP address can be reached from everywhere. Raises `ValueError` for a name."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        ip = _inner_ipv4(ip) or ip
    return ip.is_global and not ip.is_multicast


def _inner_ipv4(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a translated IPv6 address leads to."""
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def plainly_private(url: str) -> bool:
    """What can be told of an address without asking the name service; whoever connects asks it as well."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


async def public_address(host: str) -> str:
    """An address of the host. Raises `PrivateAddressError` unless all of them are public, `OSError` for no address."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if not all(is_public(address) for address in addresses):
        raise PrivateAddressError(
            f"base_url leads to a private address ({host}), which the operator forbids: "
            "use a public one, or allow private hosts in the settings (KERNELWRIGHT_FORBID_PRIVATE_HOSTS)"
        )
    return addresses[0]
