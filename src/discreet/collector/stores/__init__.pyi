from .segments import count as count
