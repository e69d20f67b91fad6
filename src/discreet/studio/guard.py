"""Access: only browser windows on this computer may send requests.

A one-time token in the address that is opened becomes a cookie for that browser; Host and Origin are checked, which is
what stops a hostile page in another tab (DNS rebinding, cross-site forms); every answer forbids scripts from elsewhere.
Requests are bounded in size and time. Unauthorised requests are refused before they are read.
"""

import asyncio
import hmac
import re
import time
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet import noise

#: Nothing may be loaded but what the studio serves itself.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
#: A form is sent with its origin only where pages may name themselves to their own origin.
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY", "cache-control": "no-store",
}  # fmt: skip
#: Bytes of a form; an uploaded table has a bound of its own, which its handler keeps.
MOST_BODY = 8 * 2**20
_UPLOADS = re.compile(r"/upload|/p/[a-z0-9]{12}/upload")
#: Browsers that are signed in at a time.
_MOST_SESSIONS = 8


class Guard:
    """Tokens and names by which the studio may be reached."""

    def __init__(self, hosts: list[str], patience: float = 30.0) -> None:
        self.hosts = [h.lower() for h in hosts]
        self.cookie = "discreet-" + self.hosts[0].rpartition(":")[2]  # ports share cookies
        self.patience = patience
        self._sessions: list[str] = []
        self.renew()

    def renew(self) -> str:
        """Return a new token for the address to open; it works once, and none made before works any more."""
        self.token = _secret()
        return self.token

    def middleware(self) -> Any:
        guard = self

        class Guarded:
            def __init__(self, app: ASGIApp) -> None:
                self.app = app

            async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
                if scope["type"] != "http":
                    await self.app(scope, receive, send)
                    return

                async def sent(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        headers = MutableHeaders(scope=message)
                        for name, value in HEADERS.items():
                            headers.setdefault(name, value)
                    await send(message)

                refused = guard.refusal(Request(scope))
                if refused is not None:  # who may not ask holds no line open either
                    refused.headers["connection"] = "close"
                bounded = receive if refused else _bounded(scope, receive, guard.patience)
                await (refused or self.app)(scope, bounded, sent)

        return Guarded

    def refusal(self, request: Request) -> Response | None:
        if request.headers.getlist("host") not in [[h] for h in self.hosts]:
            return PlainTextResponse("This page is served under another name.", 421)
        if not request.scope["query_string"].isascii():  # nothing could read it
            return PlainTextResponse("The address is not one of this page.", 400)
        origin = request.headers.getlist("origin")
        if origin and [o.lower() for o in origin] not in [[f"http://{h}"] for h in self.hosts]:
            return PlainTextResponse("Requests of other pages are refused.", 403)
        given, method = request.query_params.get("token", ""), request.method
        if method == "GET" and request.url.path == "/" and given and "sec-purpose" not in request.headers:
            return self._entered(request, given)
        if not _own(request):
            return PlainTextResponse("Requests of other pages are refused.", 403)
        if method not in ("GET", "HEAD") and not origin:
            return PlainTextResponse("A form is sent with its origin.", 403)
        size = request.headers.get("content-length", "0")
        fits = re.fullmatch(r"\d{1,15}", size, re.ASCII) and int(size) <= MOST_BODY
        if not fits and not _UPLOADS.fullmatch(request.url.path):
            return PlainTextResponse("More was sent than this page takes.", 413)
        return None if self._signed_in(request) else self._closed()

    def _entered(self, request: Request, given: str) -> Response:
        """Take the token, which works once, and lead to the page without it.

        A link in a terminal that is itself a web page comes from elsewhere. The token is proof enough; but the cookie
        is sent only by a page of our own, which therefore leads on.
        """
        there = local(request.query_params.get("next", "/"))
        made: Response = RedirectResponse(there, 303)
        if not _own(request):
            onward = f'<meta http-equiv="refresh" content="0;url={there}">'
            made = HTMLResponse(f"<!doctype html><title>Discreet</title>{onward}")
        if self.token and hmac.compare_digest(given.encode(), self.token.encode()):
            self.token = ""
            self._sessions = [*self._sessions, _secret()][-_MOST_SESSIONS:]
            made.set_cookie(self.cookie, self._sessions[-1], httponly=True, samesite="strict")
            return made
        return made if _own(request) and self._signed_in(request) else self._closed()

    def _signed_in(self, request: Request) -> bool:
        given = request.cookies.get(self.cookie, "").encode()
        return any([hmac.compare_digest(given, each.encode()) for each in self._sessions])  # noqa: C419 (all, always)

    def _closed(self) -> Response:
        return PlainTextResponse(
            "Open the address that 'discreet studio' printed. It works once; press Enter there for a new one.", 403
        )


def _secret() -> str:
    drawn: str = noise.generator().bytes(32).tobytes().hex()
    return drawn


def _own(request: Request) -> bool:
    """Return whether a request comes from our own pages, from a typed address, or from a program."""
    return request.headers.getlist("sec-fetch-site") in ([], ["same-origin"], ["none"])


def _bounded(scope: Scope, receive: Receive, patience: float) -> Receive:
    """Return what a request sends, up to a size and as long as it does not dawdle."""
    upload = _UPLOADS.fullmatch(scope["path"]) is not None
    end = None if upload else time.monotonic() + 2 * patience
    taken, whole = 0, False

    async def received() -> Message:
        nonlocal taken, whole
        if whole:  # what comes now is that the browser left, which may take its time
            return await receive()
        left = patience if end is None else min(patience, end - time.monotonic())
        try:
            message = await asyncio.wait_for(receive(), max(left, 0))
        except TimeoutError:
            raise HTTPException(408, "The request took too long; send it again.") from None
        taken += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if taken > MOST_BODY and not upload:
            raise HTTPException(413, "More was sent than this page takes.")
        return message

    return received


def local(path: str) -> str:
    """Return an address of this studio: a plain path, never one that leads elsewhere."""
    return path if re.fullmatch(r"/([\w.-]+(/[\w.-]+)*/?)?", path, re.ASCII) else "/"
