"""Tasks that a collector serves: what is asked, the frames that answer it, and the client that decides whether to."""
