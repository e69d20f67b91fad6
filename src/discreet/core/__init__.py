"""Below every room: what is declared, what is paid, what is promised, and the checks and files all rooms share."""
