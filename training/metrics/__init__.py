"""What a run says of itself: one record a step, as JSON lines and to whoever else is asked to listen."""
