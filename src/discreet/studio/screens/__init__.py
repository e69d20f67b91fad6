"""The seven screens: one module each, with ROUTES of (path, handler, methods); a handler takes (studio, request)."""
