"""What a session's processes are copies of: the program with all its kernels."""

import tests.run.session_side  # noqa: F401
from tests.kernels import load_all

load_all()
