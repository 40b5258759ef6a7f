"""Checks of a VPC that is brought along."""
