"""How each kind of job is done: heavy imports live here, so that declarations stay light."""
