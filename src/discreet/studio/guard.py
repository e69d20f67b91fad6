"""Who may ask: this computer's own browser window, and nobody else.

A one-time token in the address that is opened becomes a cookie for this session; Host and Origin are checked, which is
what stops a hostile page in another tab (DNS rebinding, cross-site forms); every answer forbids scripts from elsewhere.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing may be loaded but what the studio serves itself.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY", "cache-control": "no-store",
}  # fmt: skip


class Guard:
    """Tokens and names by which the studio may be reached.

    Parameters
    ----------
    hosts : list of str
        ``name:port`` under which it is served.
    """

    def __init__(self, hosts: list[str]) -> None:
        self.hosts = [h.lower() for h in hosts]
        self.cookie = "discreet-" + self.hosts[0].rpartition(":")[2]  # ports share cookies
        self._once: str | None = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)

    @property
    def token(self) -> str:
        """The token of the address to open; it works once."""
        return self._once or ""

    def middleware(self) -> Any:
        """Return the middleware class of Starlette."""
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
                await (refused or self.app)(scope, receive, sent)

        return Guarded

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to somebody who may not ask, or None."""
        if request.headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("This page is served under another name.", 421)
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in [f"http://{h}" for h in self.hosts]:
            return PlainTextResponse("Requests of other pages are refused.", 403)
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return PlainTextResponse("Requests of other pages are refused.", 403)
        if request.method not in ("GET", "HEAD") and origin is None:
            return PlainTextResponse("A form is sent with its origin.", 403)
        if hmac.compare_digest(request.cookies.get(self.cookie, "").encode(), self._session.encode()):
            return None
        given = request.query_params.get("token", "")
        if self._once and request.url.path == "/" and hmac.compare_digest(given.encode(), self._once.encode()):
            self._once = None
            made = RedirectResponse(local(request.query_params.get("next", "/")), 303)
            made.set_cookie(self.cookie, self._session, httponly=True, samesite="strict")
            return made
        return PlainTextResponse("Open the address that 'discreet studio' printed; it works once.", 403)


def local(path: str) -> str:
    """Return an address of this studio: a plain path, never one that leads elsewhere.

    Examples
    --------
    >>> local("/p/1/goal"), local("//evil.example/"), local("https://evil.example"), local("/\\\\evil.example")
    ('/p/1/goal', '/', '/', '/')
    """
    return path if re.fullmatch(r"/([\w.-]+(/[\w.-]+)*/?)?", path, re.ASCII) else "/"
