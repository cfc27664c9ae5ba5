"""`make bench`: every comparison, one after the other."""

from __future__ import annotations

from benchmarks import bloom, cleaning, linkage, places, spu

for benchmark in (places, cleaning, bloom, spu):
    benchmark.run()
if linkage.DATA.is_dir():
    linkage.run_case("ab")
