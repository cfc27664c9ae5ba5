"""What the tests of the laboratory's engines share with those of the others."""

from __future__ import annotations

from tests.secure.conftest import sessions as sessions
from tests.secure.conftest import world_of as world_of
