"""Which requests are accepted: addressed to this host by its own name, sent by our page, and of bounded size.

A page of another site can make the browser send requests here, but it cannot forge the Host header (which defeats DNS
rebinding), and the browser states the origin of the request.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from regard.tasks.input_file import MAX_BYTES as MAX_FILE_BYTES

# bytes by content type; HTML forms of other sites can send neither type
MAX_BYTES = {"application/json": 4 * 2**20, "application/octet-stream": MAX_FILE_BYTES}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def refusal(method: str, headers: Mapping[str, str], host: str) -> tuple[int, str] | None:
    """Status and reason if the request must be refused, else None. `host` is the address the server is bound to."""
    name = headers.get("host", "")
    if not is_server_name(name, host):
        return 421, f"{name[:100]!r} is not a name of this server"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != name:
        return 403, "requests from other sites are refused"
    follows_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"  # the other site cannot read it
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not follows_link:
        return 403, "requests from other sites are refused"
    if method == "POST":
        limit = MAX_BYTES.get(headers.get("content-type", "").partition(";")[0].strip().lower())
        if limit is None:
            return 415, "the content type must be application/json or application/octet-stream"
        length = headers.get("content-length", "")
        if not length.isdecimal():
            return 411, "the request needs a Content-Length"
        if int(length) > limit:
            return 413, f"the request has {int(length):,} bytes, more than {limit:,}"
    return None


def is_server_name(name: str, host: str) -> bool:
    """Whether a Host header names this server: its own name, localhost, or an IP address, which DNS cannot rebind."""
    try:
        name = urlsplit(f"//{name}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", host.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(host)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
