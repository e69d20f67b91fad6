"""The service: requests in, group commits, limits, metrics, pages out."""
