"""Output: files written whole, figures in sentences, pieces of HTML, progress."""
