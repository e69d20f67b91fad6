"""Where reports are kept: SQLite by default, PostgreSQL for several processes, Parquet segments beyond one machine."""
