"""Amazon EC2's network: what ministack lacks of it, or takes more lightly than AWS does."""
