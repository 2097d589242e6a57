"""Which addresses the web tools reach, over a public internet that is played on loopback."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import InputError, ToolError
from motet.tools.tool import Observation
from motet.tools.web.guard import Guard, parse, resolve, why_refused
from motet.tools.web.network import Network
from motet.tools.web.visit import visit_tool
from tests.tools.web.servers import Internet, answer, article, redirect, serving

PUBLIC = "93.184.215.14"
OTHER = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

# Every kind that reliability asks for, in each family.
REFUSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
REACHED = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700:4700::1111",
    OTHER,
    "2a00:1450:4001::1",
]


def look(host: str, port: int = 80, *, guard: Guard) -> list[str]:
    return [str(ip) for ip in asyncio.run(guard.addresses(host, port))]


def netloc(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


@pytest.mark.parametrize("ip", REFUSED)
def test_no_address_but_a_public_one_is_reached(ip: str) -> None:
    """Written as the host or answered by DNS, an address that is not public is refused, and said to be."""
    with pytest.raises(ToolError, match="no public address"):
        look(parse(f"http://{netloc(ip)}/").host, guard=Guard())
    for answers in ([ip], [PUBLIC, ip], [ip, PUBLIC]):
        guard = Guard(resolve=Internet(names={"www.example.org": [answers]}).resolve)
        with pytest.raises(ToolError, match=r"www\.example\.org leads to .*no public address"):
            look("www.example.org", guard=guard)


@pytest.mark.parametrize("ip", REACHED)
def test_public_addresses_are_reached(ip: str) -> None:
    """Public addresses pass, as hosts and as answers."""
    assert look(parse(f"https://{netloc(ip)}/").host, guard=Guard()) == [str(ipaddress.ip_address(ip))]
    guard = Guard(resolve=Internet(names={"www.example.org": [[ip]]}).resolve)
    assert look("www.example.org", guard=guard) == [str(ipaddress.ip_address(ip))]


@given(st.ip_addresses())
def test_what_passes_is_global(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """Nothing passes that Python's own registry calls private, multicast, reserved or otherwise special."""
    if why_refused(ip) is None:
        assert ip.is_global
        assert not any((ip.is_multicast, ip.is_reserved, ip.is_loopback, ip.is_link_local, ip.is_unspecified))


def _spellings(value: int) -> list[str]:
    """Ways to write an IPv4 address that some client or other understands."""
    a, b, c, d = (value >> shift & 255 for shift in (24, 16, 8, 0))
    low = b << 16 | c << 8 | d
    return [
        str(value),
        hex(value),
        f"0{value:o}",
        f"{a}.{low}",
        f"{a}.{b}.{c << 8 | d}",
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a}.{b}.{c}.{d:#X}",
        f"{a}.{b}.{c}.{d}.",
        f"{a:03}.{b}.{c}.{d}",
        f"{a}.{b}.{c}.{d}".translate({48 + digit: 0xFF10 + digit for digit in range(10)}),
        f"{a}。{b}。{c}。{d}",
        f"{a}.{b}.\u00ad{c}.{d}",
        f"[::ffff:{a}.{b}.{c}.{d}]",
        f"[::{a:x}{b:02x}:{c:x}{d:02x}]",
        f"[64:ff9b::{a}.{b}.{c}.{d}]",
        f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::]",
    ]


@given(
    st.sampled_from(["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "0.0.0.0", "100.64.9.9"])
    | st.ip_addresses(network="127.0.0.0/8").map(str),
    st.integers(0, 16),
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(["", ":80", ":8080", ":"]),
)
def test_no_spelling_of_a_private_address_passes(ip: str, way: int, scheme: str, port: str) -> None:
    """Decimal, octal, hexadecimal, short, full-width and wrapped spellings are refused, whether read or not."""
    host = _spellings(int(ipaddress.IPv4Address(ip)))[way]

    def visit() -> None:
        address = parse(f"{scheme}://{host}{port}/x")
        look(address.host, address.port, guard=Guard(resolve=Internet().resolve))

    with pytest.raises(ToolError) as caught:
        visit()
    assert "there is no host called" not in str(caught.value)  # it was never looked up as a name


@given(
    st.text(max_size=60)
    | st.text(alphabet="htps:/@[].0x17%\\#?lo cah\u3002\uff11-_", max_size=40).map("http://".__add__)
)
def test_any_text_is_an_address_or_refused_in_a_sentence(text: str) -> None:
    """Reading never fails in another way; and what was read reads the same again, host and all."""
    try:
        address = parse(text)
    except ToolError:
        return
    assert address.scheme in ("http", "https")
    assert address.host.isascii()
    assert re.fullmatch(r"/[!-~]*", address.target)
    assert parse(str(address)) == address


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org/x", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("javascript:alert(1)", "not a web address"),
        ("example.org/page", "write it in full"),
        ("//example.org/page", "write it in full"),
        ("", "not a web address"),
        ("http://", "no valid host"),
        ("http:///path", "no valid host"),
        ("http://user:secret@example.org/", "user name or password"),
        ("http://example.org@127.0.0.1/", "user name or password"),
        ("http://127.0.0.1\\@example.org/", "user name or password"),
        ("http://example.org\\.evil.org/", "no valid host"),
        ("http://exa mple.org/", "no valid host"),
        ("http://example.org\r\nHost: x/", "no valid host"),
        ("http://example.org\t/", "no valid host"),
        ("http://example%2eorg/", "not a host name"),
        ("http://[fe80::1%25eth0]/", "no valid host"),
        ("http://[::1/", "no valid host"),
        ("http://::1/", "no valid host"),
        ("http://[v1.x]/", "no valid host"),
        ("http://[12345::]/", "not an IPv6 address"),
        ("http://-a.example.org/", "not a host name"),
        ("http://a..example.org/", "not a host name"),
        ("http://\u0640.example.org/", "not a host name"),
        ("http://" + "a" * 64 + ".org/", "not a host name"),
        ("http://example.org:0/", "1 to 65535"),
        ("http://example.org:65536/", "1 to 65535"),
        ("http://example.org:x/", "no valid host"),
        ("http://example.org/" + "a" * 8_000, "the limit is 8,000"),
        ("http://1.2.3.4.5/", "four plain numbers"),
        ("http://example.1/", "four plain numbers"),
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str, said: str) -> None:
    """Each with a reason; a password in the address is not repeated."""
    with pytest.raises(ToolError, match=said) as caught:
        parse(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("  https://Example.ORG  ", "https://example.org/"),
        ("http://example.org:80/a?b=c#part", "http://example.org/a?b=c"),
        ("https://example.org:8443?q", "https://example.org:8443/?q"),
        ("https://example.org./x", "https://example.org/x"),
        ("https://münchen.example/straße?q=ü ü", "https://xn--mnchen-3ya.example/stra%C3%9Fe?q=%C3%BC%20%C3%BC"),
        ("https://example.org/100%/a%20b", "https://example.org/100%25/a%20b"),
        ("https://[2606:4700::1111]:8080/", "https://[2606:4700::1111]:8080/"),
        ("https://a_b.example.org/", "https://a_b.example.org/"),
        ("https://example.org/a\r\nX: y", "https://example.org/a%0D%0AX:%20y"),
    ],
)
def test_an_address_has_one_form(url: str, read: str) -> None:
    """Case, default ports, other scripts, stray characters and line breaks end in one plain spelling."""
    assert str(parse(url)) == read


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "printer",
        "printer.local",
        "db.internal",
        "metadata.google.internal",
        "router.lan",
        "nas.home.arpa",
        "ｌｏｃａｌｈｏｓｔ",
        "loc\u00adalhost",
    ],
)
def test_names_of_this_machine_and_its_network_are_not_looked_up(host: str) -> None:
    """They are refused by their name, whatever they would lead to."""
    internet = Internet(names={parse(f"http://{host}/").host: [[PUBLIC]]})
    with pytest.raises(ToolError, match="name of this machine or its network"):
        look(parse(f"http://{host}/").host, guard=Guard(resolve=internet.resolve))
    assert internet.looked_up == []


@pytest.mark.parametrize("port", [1, 21, 22, 25, 110, 445, 587, 993, 6379, 6667, 11211])
def test_ports_of_other_services_are_refused(port: int) -> None:
    """A request cannot be made to speak to mail, files, chats or caches."""
    with pytest.raises(ToolError, match=f"port {port} is not one"):
        look("8.8.8.8", port, guard=Guard())


@pytest.mark.parametrize("port", [80, 443, 3000, 8000, 8080, 8443, 49152])
def test_ports_of_web_servers_are_reached(port: int) -> None:
    """The web's own two, and high ones."""
    assert look("8.8.8.8", port, guard=Guard()) == ["8.8.8.8"]


def test_the_allow_list_exempts_exactly_what_it_names() -> None:
    """A host with a port is exempt at that port; without, at all; nothing else is."""
    guard = Guard(allow=["127.0.0.1:8000", "[::1]:22", "intranet", " Wiki.Example.org "], resolve=_home)
    assert look("127.0.0.1", 8000, guard=guard) == ["127.0.0.1"]
    assert look("::1", 22, guard=guard) == ["::1"]
    assert look("intranet", 25, guard=guard) == look("wiki.example.org", guard=guard) == ["192.168.0.9"]
    for host, port in (
        ("127.0.0.1", 8001),
        ("127.0.0.2", 8000),
        ("::1", 80),
        ("other.example.org", 80),
        ("a.intranet", 80),
    ):
        with pytest.raises(ToolError):
            look(host, port, guard=guard)
    for entry in ("", "http://x", "a b", "x:99999", "user@x", "0x7f.1"):
        with pytest.raises(InputError, match=r"\[web\] allow"):
            Guard(allow=[entry])


async def _home(host: str, port: int) -> list[str]:
    return ["192.168.0.9"]


def test_the_systems_resolver_is_behind_the_guard() -> None:
    """The default resolver is asked for real; a name that the machine knows for itself leads to a refusal."""
    assert set(asyncio.run(resolve("localhost", 80))) <= {"127.0.0.1", "::1"}

    async def local(host: str, port: int) -> list[str]:
        return await resolve("localhost", port)

    with pytest.raises(ToolError, match="no public address"):
        look("www.example.org", guard=Guard(resolve=local))


def visit(url: str, network: Network, **arguments: Any) -> Any:
    return visit_tool(network)({"url": url, **arguments}, key="k")


def test_a_redirect_is_judged_like_the_first_address() -> None:
    """From a public page to any address that is not public, directly, by name or in two steps, there is no way."""

    async def run() -> None:
        private = article("Secrets of the inner network.")
        async with serving(answer(private.encode())) as inner:
            for target in (
                inner.url(),
                f"http://localhost:{inner.port}/",
                f"http://[::1]:{inner.port}/",
                f"http://2130706433:{inner.port}/",
                f"//127.0.0.1:{inner.port}/",
                "http://inner.example.org/",
                "http://169.254.169.254/latest/meta-data/",
                "file:///etc/passwd",
                "http://user:pass@www.example.org/",
            ):
                pages = {"/": redirect("/next"), "/next": redirect(target, status="307 Temporary Redirect")}
                async with serving(pages) as server:
                    internet = Internet(
                        names={"www.example.org": [[PUBLIC]], "inner.example.org": [["10.0.0.7"]]},
                        places={PUBLIC: server.port, "127.0.0.1": inner.port, "10.0.0.7": inner.port},
                    )
                    seen = await visit("http://www.example.org/", internet.network())
                    assert seen.error, target
                    assert "Secrets" not in seen.text
                    assert len(server.requests) == 2
                    assert internet.dialled == [PUBLIC, PUBLIC]
            assert inner.requests == []

    asyncio.run(run())


def test_a_name_that_changes_its_address_gets_nowhere() -> None:
    """Rebinding: the address that was checked is the one connected to, with one look-up for each connection; a later private answer is refused."""

    async def run() -> None:
        async with serving(
            {"/": answer(article("Public words, and enough of them.").encode()), "/hop": redirect("/")}
        ) as server:
            names: dict[str, Any] = {"www.example.org": [[PUBLIC], ["127.0.0.1"]]}
            internet = Internet(names=names, places={PUBLIC: server.port, "127.0.0.1": server.port})
            first = await visit("http://www.example.org/", internet.network())
            assert "Public words" in first.text
            assert (internet.looked_up, internet.dialled) == (["www.example.org"], [PUBLIC])

            internet = Internet(
                names={"www.example.org": [[PUBLIC], ["127.0.0.1"]]},
                places={PUBLIC: server.port, "127.0.0.1": server.port},
            )
            hopped = await visit("http://www.example.org/hop", internet.network())
            assert hopped.error
            assert "leads to 127.0.0.1, which is no public address (loopback)" in hopped.text
            assert internet.dialled == [PUBLIC]

    asyncio.run(run())


def test_a_host_keeps_its_name_in_the_request_and_is_tried_at_each_address() -> None:
    """The Host header names the host, not the address; an address that does not answer leaves the next."""

    async def run() -> tuple[Observation, Internet, list[bytes]]:
        async with serving(answer(article("Words enough to be read.").encode())) as server:
            internet = Internet(names={"www.example.org": [["1.1.1.1", PUBLIC]]}, places={PUBLIC: server.port})
            seen = await visit("http://www.example.org:8080/a?b", internet.network())
            return seen, internet, server.requests

    seen, internet, requests = asyncio.run(run())
    assert not seen.error
    assert internet.dialled == ["1.1.1.1", PUBLIC]
    assert requests[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: www.example.org:8080\r\n")


def test_nothing_personal_is_ever_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cookies that a page sets are not sent to its redirects; no key, no Authorization, no Referer; proxies of the environment are not used."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    async def run() -> list[bytes]:
        pages = {
            "/": redirect("/two", Set_Cookie="session=abc; Path=/", WWW_Authenticate="Basic"),
            "/two": answer(article("Words enough to be read.").encode(), Set_Cookie="session=abc"),
        }
        async with serving(pages) as server:
            network = Network(Guard(allow=[server.host]))
            tool = visit_tool(network)
            for _ in range(2):
                assert not (await tool({"url": server.url()}, key="k")).error
            assert not (await visit_tool(network)({"url": server.url("/two")}, key="k")).error
            return server.requests

    requests = asyncio.run(run())
    assert len(requests) == 3  # the second visit is answered from what was kept
    for request in requests:
        names = {line.split(b":")[0].lower() for line in request.split(b"\r\n")[1:] if line}
        assert names == {b"host", b"user-agent", b"connection", b"accept", b"accept-encoding"}
        assert b"secret" not in request
        assert b"abc" not in request


def test_no_host_and_no_answer_are_told_apart() -> None:
    """A name that is not there, and one where nobody answers, each say so."""
    internet = Internet(names={"www.example.org": [[PUBLIC]], "none.example.org": [[]]})
    assert "no host called away.example.org" in asyncio.run(visit("http://away.example.org/", internet.network())).text
    assert "no host called none.example.org" in asyncio.run(visit("http://none.example.org/", internet.network())).text
    assert "cannot be reached" in asyncio.run(visit("http://www.example.org/", internet.network())).text

    async def busy(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    seen = asyncio.run(visit("http://www.example.org/", Network(Guard(resolve=busy))))
    assert "could not be looked up now; try again later" in seen.text
