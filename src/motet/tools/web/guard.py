"""Which addresses the ``web`` tools may reach.

- An address is read once, here, and its parts go to the HTTP client as they are: no second parser can see another host.
- A host is judged by the address that is connected to. Names are resolved for each connection, all their addresses are
  checked, and the connection is made to one of those (``network.py``): there is no second look-up to answer otherwise.
- IPv4 must be written as four plain numbers. Other spellings (decimal, octal, hexadecimal, short) have no use but to mislead.
- IPv4: the special-purpose registry of IANA (RFC 6890 and its updates), multicast, and Azure's in-machine service. IPv6: only
  global unicast (2000::/3) passes, without its special blocks; this leaves out unique local, link-local, mapped IPv4 and NAT64.
- Hosts on the allow-list pass whatever their address or port.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, urljoin

from motet.errors import InputError, ToolError
from motet.tools.threads import threads

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
# Looks a name up and returns addresses as text. Raises OSError when there are none.
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

MAX_URL = 8_000  # characters

_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::([0-9]{0,5}))?", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
# Everything that RFC 3986 lets stand in a path or query; a stray % is encoded below.
_PLAIN = "/%:@!$&'()*+,;=~-._?[]|"
_STRAY_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})")

# Names that never mean a public host: this machine, the local network, and what clouds use inside.
_LOCAL_NAMES = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home.arpa", "test", "invalid")

# Below 1024 only the web's own two ports. Above, those on which another protocol would take a request for its own
# (the "bad ports" of https://fetch.spec.whatwg.org/#port-blocking).
_BAD_PORTS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697}
    | {10080, 11211}
)

_IPV4 = [
    (ipaddress.IPv4Network(block), what)
    for block, what in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "private (shared by a provider's customers)"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's in-machine service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved"),
        ("198.51.100.0/24", "reserved"),
        ("203.0.113.0/24", "reserved"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
]
_IPV6 = [
    (ipaddress.IPv6Network(block), what)
    for block, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "a wrapped IPv4 address"),
        ("::/96", "a wrapped IPv4 address"),
        ("64:ff9b::/96", "a wrapped IPv4 address"),
        ("64:ff9b:1::/48", "a wrapped IPv4 address"),
        ("2002::/16", "a wrapped IPv4 address"),
        ("2001::/32", "a wrapped IPv4 address"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved"),
        ("3fff::/20", "reserved"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
]
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")


@dataclass(frozen=True, slots=True)
class Address:
    """A web address in its one form. ``host`` is lower-case ASCII, an IPv6 address without brackets; ``target`` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        """The host with its port, as a Host header has it."""
        return netloc(self.host, None if self.port == _DEFAULT_PORTS[self.scheme] else self.port)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"


def parse(url: str) -> Address:
    """Read a web address. Raises ToolError saying what an address must look like.

    A part after ``#`` is dropped. Characters that must be encoded in a path or query are.
    """
    text = url.strip()
    if len(text) > MAX_URL:
        raise ToolError(f"the address has {len(text):,} characters; the limit is {MAX_URL:,}")
    match = _URL.fullmatch(text)
    if match is None:
        raise ToolError(f"{_shown(text)} is not a web address; write it in full, as in https://example.org/page")
    scheme = match[1].lower()
    if scheme not in _DEFAULT_PORTS:
        raise ToolError(f"only http and https addresses can be visited, not {scheme}")
    authority = match[2]
    if "@" in authority:
        raise ToolError("the address holds a user name or password; write it without")
    parts = None if _UNSAFE.search(authority) else _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ToolError(f"{_shown(text)} has no valid host between {scheme}:// and the path")
    port = int(parts[3]) if parts[3] else _DEFAULT_PORTS[scheme]
    if not 0 < port < 65536:
        raise ToolError(f"{_shown(text)}: a port is a number from 1 to 65535")
    target = _encoded(match[3] or "/") + (f"?{_encoded(match[4])}" if match[4] is not None else "")
    return Address(scheme, _host(parts[1], parts[2]), port, target)


def follow(address: Address, location: str) -> Address:
    """Where a redirect or a link leads from ``address``. Raises ToolError as ``parse`` does."""
    try:
        return parse(urljoin(str(address), location.strip()))
    except ValueError:
        raise ToolError(f"{_shown(location)} is not a web address") from None


def netloc(host: str, port: int | None) -> str:
    """``host`` with brackets where it needs them, and ``port`` where there is one."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"


def why_refused(ip: IPAddress) -> str | None:
    """What kind of address ``ip`` is if it is no public one, else ``None``."""
    if isinstance(ip, ipaddress.IPv4Address):
        return next((what for block, what in _IPV4 if ip in block), None)
    special = next((what for block, what in _IPV6 if ip in block), None)
    return special or (None if ip in _GLOBAL_IPV6 else "reserved")


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of ``host`` by the system's resolver, each once and in its order."""
    # In a thread of our own: a resolver that hangs must not use up those of the event loop.
    look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in await threads().run(look_up)))


class Guard:
    """Decides what a host may be connected at. ``allow`` exempts hosts: ``host``, ``host:port`` or ``[ipv6]:port``.

    Raises InputError for an entry of ``allow`` that is no host.
    """

    def __init__(self, *, allow: Iterable[str] = (), resolve: Resolve = resolve) -> None:
        self._allow = frozenset(_allowed(entry) for entry in allow)
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> list[IPAddress]:
        """The addresses at which ``host`` may be connected now, as ``Address`` spells it; at least one.

        Raises ToolError when the host is not public, or cannot be found. One address that is not public refuses all: a
        name that mixes them is a mistake or a trap.
        """
        exempt = (host, port) in self._allow or (host, None) in self._allow
        if not exempt:
            _check_port(port)
        literal = _literal(host)
        if literal is not None:
            found = [literal]
        else:
            if not exempt:
                _check_name(host)
            found = await self._look_up(host, port)
        for ip in () if exempt else found:
            if kind := why_refused(ip):
                leads = "is" if ip == literal else f"leads to {ip}, which is"
                raise ToolError(f"{host} {leads} no public address ({kind}); only public web pages can be visited")
        return found

    async def _look_up(self, host: str, port: int) -> list[IPAddress]:
        try:
            answers = await self._resolve(host, port)
        except OSError as error:
            if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
                raise ToolError(f"the name {host} could not be looked up now; try again later") from None
            raise ToolError(f"there is no host called {host}; check the address") from None
        found = [ipaddress.ip_address(answer.partition("%")[0]) for answer in answers]
        if not found:
            raise ToolError(f"there is no host called {host}; check the address")
        return found


def _allowed(entry: str) -> tuple[str, int | None]:
    parts = _AUTHORITY.fullmatch(entry.strip())
    try:
        if parts is None:
            raise ToolError("it is no host")
        host = _host(parts[1], parts[2])
        port = int(parts[3]) if parts[3] else None
        if port is not None and not 0 < port < 65536:
            raise ToolError("a port is a number from 1 to 65535")
    except ToolError as error:
        raise InputError(
            f"[web] allow: {entry!r}: {error}; write a host or host:port, as in '127.0.0.1:8000'"
        ) from None
    return host, port


def _check_port(port: int) -> None:
    if port not in _DEFAULT_PORTS.values() and (port < 1024 or port in _BAD_PORTS):
        raise ToolError(f"port {port} is not one that web pages are served at")


def _check_name(host: str) -> None:
    if "." not in host or any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES):
        raise ToolError(f"{host} is a name of this machine or its network; only public web pages can be visited")


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _host(ipv6: str | None, name: str | None) -> str:
    """A host in its one form."""
    if ipv6 is not None:
        try:
            return str(ipaddress.IPv6Address(ipv6))
        except ValueError:
            raise ToolError(f"[{ipv6}] is not an IPv6 address") from None
    assert name is not None
    ascii_name = _ascii(name).removesuffix(".")
    labels = ascii_name.split(".")
    if len(ascii_name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ToolError(f"{_shown(name)} is not a host name")
    if _NUMBER.fullmatch(labels[-1]):  # every client reads such a host as IPv4, and many accept odd spellings
        try:
            return str(ipaddress.IPv4Address(ascii_name))
        except ValueError:
            raise ToolError(f"{_shown(name)} is not an IPv4 address of four plain numbers") from None
    return ascii_name


def _ascii(name: str) -> str:
    """``name`` as DNS has it: lower case, with other scripts in their ASCII form (UTS 46)."""
    if name.isascii():
        return name.lower()
    import idna

    try:
        folded = idna.uts46_remap(name, std3_rules=False, transitional=False)
        return folded.lower() if folded.isascii() else idna.encode(folded).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise ToolError(f"{_shown(name)} is not a host name") from None


def _encoded(text: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=_PLAIN, errors="replace")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:100] + "…")
