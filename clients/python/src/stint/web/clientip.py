"""The client's address of a request that came through proxies.

The sender of a request can write anything into X-Forwarded-For, so only entries added by trusted proxies count. Without
trusted proxies such fields are ignored.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: behind it stands an IPv4 address, and each is another client

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Resolver:
    """Identifies clients by their addresses: each IPv4 address, and each /64 of IPv6 addresses, is one client."""

    def __init__(self, trusted_proxies: Iterable[str] = (), *, ipv4_bits: int = 32, ipv6_bits: int = 64) -> None:
        self._trusted = [ipaddress.ip_network(network) for network in trusted_proxies]
        self._bits = {4: ipv4_bits, 6: ipv6_bits}

    def resolve(self, remote: str, forwarded: Sequence[str] = ()) -> str:
        """Return the prefix that stands for the client, "" if remote is no address.

        It goes through the forwarded addresses from right to left while the current address is a trusted proxy's.
        """
        client = _parse(remote)
        if client is None:
            return ""
        hops = ",".join(forwarded).split(",")
        while hops and any(client in network for network in self._trusted):
            following = _parse(hops.pop().strip())
            if following is None:
                break
            client = following
        return str(ipaddress.ip_network((client, self._bits[client.version]), strict=False))


def _parse(text: str) -> Address | None:
    """Read an address with or without a port, in brackets or not."""
    candidates = [text.strip("[]")]
    if text.startswith("["):
        candidates.append(text[1:].partition("]")[0])
    elif text.count(":") == 1:
        candidates.append(text.partition(":")[0])
    for candidate in candidates:
        try:
            address = ipaddress.ip_address(candidate.partition("%")[0])
        except ValueError:
            continue
        if isinstance(address, ipaddress.IPv6Address):
            if address in _NAT64:
                return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
            return address.ipv4_mapped or address
        return address
    return None
