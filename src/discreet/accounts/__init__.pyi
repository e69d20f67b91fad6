from .account import Account as Account
from .account import Reservation as Reservation
from .book import Entry as Entry
from .charging import check_ledger as check_ledger
from .charging import reserve as reserve
from .composition import CONDITION as CONDITION
from .composition import compose as compose
from .composition import in_words as in_words
from .facts import heads_of as heads_of
from .laws import Price as Price

# What users see. The other names are for other rooms.
__all__ = ["Account", "Entry", "Price", "Reservation", "check_ledger", "compose", "reserve"]
