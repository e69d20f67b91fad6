"""How many different items there are: private bitmaps of data holders, and plain sketches to measure them against."""
