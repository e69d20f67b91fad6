"""Mechanisms and ledgers for devices that report again and again."""
