"""The command line: parse, call one verb of unbroken.ops, print. No decisions live here."""
