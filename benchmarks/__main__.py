"""`make bench`: every comparison, one after the other."""

from __future__ import annotations

from benchmarks import bloom, cleaning, febrl, linkage, places, psi, spu

for benchmark in (places, cleaning, bloom, spu, psi, febrl):
    benchmark.run()
if linkage.DATA.is_dir():
    linkage.run_case("ab")
