"""What can be read: arrays, data frames, CSV and Parquet files, Spark frames."""
