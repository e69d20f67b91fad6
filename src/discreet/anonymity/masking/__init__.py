"""Methods that change the values of rows: microaggregation, noise without a formal promise, swapping, coding."""
