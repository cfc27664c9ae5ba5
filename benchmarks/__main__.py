"""`make bench`: every comparison, one after the other."""

from __future__ import annotations

from benchmarks import bloom, linkage, places

for benchmark in (places, bloom):
    benchmark.run()
if linkage.DATA.is_dir():
    linkage.run_case("ab")
