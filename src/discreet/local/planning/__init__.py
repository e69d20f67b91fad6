"""Which mechanism and settings, what can be found, what shuffling adds: before anything is collected."""
