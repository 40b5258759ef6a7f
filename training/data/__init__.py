"""The data: text as tokens, and which sample each rank reads at each step. No torch here."""
