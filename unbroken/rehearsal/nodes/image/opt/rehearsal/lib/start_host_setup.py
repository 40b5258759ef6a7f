"""Entry of the emulated host agent's part where the service itself configures a node."""

import sys

from host_setup.main import main

sys.exit(main())
