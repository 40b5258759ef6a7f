"""Checks that ask the account."""
