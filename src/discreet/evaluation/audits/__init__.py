"""Whether a mechanism keeps its claim: lower bounds from runs, exact laws, tables counted again."""
