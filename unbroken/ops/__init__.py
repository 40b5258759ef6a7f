"""The verbs as functions. They know nothing of the command line: no printing, no exit codes, no colours."""
