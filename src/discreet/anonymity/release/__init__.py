"""From a partition to a released table, also one larger than memory."""
