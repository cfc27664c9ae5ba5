"""`make bench`: every comparison, one after the other."""

from __future__ import annotations

from benchmarks import bloom, places

for benchmark in (places, bloom):
    benchmark.run()
