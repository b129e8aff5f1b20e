"""Who may ask: requests for this machine by its own name, from the page itself, and of a bounded size.

A page of another site can make a browser send requests here. It cannot choose the Host that they carry (a name that is
rebound to this machine still is its own name), and its browser says where they come from.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from regard.view.image_file import LARGEST as LARGEST_FILE

# bytes of a request; plain forms of other sites can send neither kind
LARGEST = {"application/json": 4 * 2**20, "application/octet-stream": LARGEST_FILE}
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
    """Why a request is refused, with its status; None where it is welcome. `host` is what the server was bound to."""
    asked = headers.get("host", "")
    if not is_own(asked, host):
        return 421, f"{asked[:100]!r} is not a name of this server"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != asked:
        return 403, "requests of other sites are refused"
    follows_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"  # to the person alone
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not follows_link:
        return 403, "requests of other sites are refused"
    if method == "POST":
        most = LARGEST.get(headers.get("content-type", "").partition(";")[0].strip().lower())
        if most is None:
            return 415, "only JSON and the bytes of pictures are taken"
        length = headers.get("content-length", "")
        if not length.isdecimal():
            return 411, "the length of the request must be told"
        if int(length) > most:
            return 413, f"the request has {int(length):,} bytes, more than {most:,}"
    return None


def is_own(asked: str, host: str) -> bool:
    """Whether a Host names this server: the name it was given, localhost, or an address, which no DNS rebinds."""
    try:
        name = urlsplit(f"//{asked}").hostname or ""
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
