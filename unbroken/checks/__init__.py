"""Checks before a deployment: one small class a question, answered PASS, FAIL or UNKNOWN.

``check.py`` says what a check is, ``runner.py`` runs them, ``every.py`` lists them all. A check reads what it
is given in a Subject and asks AWS through it; it makes nothing and changes nothing.
"""
