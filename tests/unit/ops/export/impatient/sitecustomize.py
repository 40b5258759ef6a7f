"""For programs that a test starts: none waits longer than a moment, as the AWS CLI does between two looks."""

import time

_sleep = time.sleep
time.sleep = lambda seconds: _sleep(min(float(seconds), 0.05))
