"""A worker of B that does what it should, and says that nothing matches; else `accord.workers.worker`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.secure.ot import engine
from accord.secure.ot.batch import BatchSide
from accord.secure.party import Party
from accord.workers.worker import main
from tests.run.cheats import say_always


def hide(mine: BatchSide) -> Party[NDArray[np.bool_]]:
    return np.zeros_like((yield from say_always(mine, 0)))


if __name__ == "__main__":
    vars(engine)["run_b"] = hide
    main()
