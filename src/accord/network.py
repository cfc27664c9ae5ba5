"""What lies between two parties, as they agree on it and as benchmarks imitate it: rate and round trip."""

from __future__ import annotations

from dataclasses import dataclass

from accord.errors import UsageError


@dataclass(frozen=True)
class Network:
    """What lies between the parties: megabits a second in each direction, and milliseconds there and back."""

    megabits: float
    milliseconds: float

    def __post_init__(self) -> None:
        if not (0 < self.megabits < float("inf") and 0 <= self.milliseconds < float("inf")):
            raise UsageError(problem="A network has a rate above 0 and a round trip of 0 or more.")

    @classmethod
    def parse(cls, text: str) -> Network:
        """`100/20` is 100 Mbit/s in each direction with a round trip of 20 ms."""
        try:
            megabits, milliseconds = map(float, text.split("/"))
        except ValueError:
            problem = f"'{text}' is not a network: write Mbit/s and the round trip in ms, as in 100/20."
            raise UsageError(problem=problem) from None
        return cls(megabits, milliseconds)

    def __str__(self) -> str:
        return f"{self.megabits:g}/{self.milliseconds:g}"

    @property
    def bytes_per_second(self) -> float:
        return self.megabits * 1e6 / 8

    @property
    def one_way(self) -> float:
        """Seconds for half the round trip."""
        return self.milliseconds / 2e3
