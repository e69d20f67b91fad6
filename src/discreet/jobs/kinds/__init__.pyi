from .every import KINDS as KINDS
