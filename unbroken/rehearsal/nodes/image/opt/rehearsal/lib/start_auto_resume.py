"""What srun --auto-resume=1 turns into inside a job; the arguments are srun's own."""

import sys

from auto_resume.main import main

raise SystemExit(main(sys.argv[1:]))
