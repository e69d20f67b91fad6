"""Random bytes and what is drawn straight from them: generators, exact coins against digits, uniform integers."""
