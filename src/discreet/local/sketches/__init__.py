"""Count-mean sketches: values of any domain, hashed to a few buckets."""
