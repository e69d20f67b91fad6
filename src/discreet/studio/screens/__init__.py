"""The seven screens, and what is below them. A handler takes a `Visit`."""
