"""Bloom filters of names: Accord's encoder against clkhash, at equal filter parameters, in one run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from accord.datasets.products import generate_products
from accord.fields.encoders import encode
from accord.fields.schema import Bloom, TextField

RECORDS = 20_000
SETTINGS = [(50, 1, 3), (1024, 20, 2)]
PEERS = Path(".venv-peers/bin/python")
_PEER = """
import io, json, sys, time
from clkhash import clk
from clkhash.schema import from_json_dict
bits, hashes, grams, path = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
names = open(path, encoding="utf-8").read()
schema = from_json_dict({
    "version": 3,
    "clkConfig": {
        "l": bits,
        "kdf": {"type": "HKDF", "hash": "SHA256", "info": "", "salt": "", "keySize": 64},
    },
    "features": [{
        "identifier": "name",
        "format": {"type": "string", "encoding": "utf-8"},
        "hashing": {
            "comparison": {"type": "ngram", "n": grams},
            "strategy": {"bitsPerToken": hashes},
            "hash": {"type": "doubleHash"},
        },
    }],
})
began = time.perf_counter()
made = clk.generate_clk_from_csv(
    io.StringIO(names), "secret", schema, header=False, progress_bar=False, max_workers=1
)
print(json.dumps({"seconds": time.perf_counter() - began, "records": len(made)}))
"""


def run() -> None:
    names = generate_products(RECORDS, None, 1, sparse=True).a["name"].combine_chunks()
    for bits, hashes, grams in SETTINGS:
        spec = TextField(type="text", encoder=Bloom(kind="bloom", bits=bits, hashes=hashes, grams=grams))
        encode("name", spec, names.slice(0, 10), "00")
        began = time.perf_counter()
        encode("name", spec, names, "00")
        ours = (time.perf_counter() - began) / RECORDS * 1e6
        theirs = _clkhash(names, bits, hashes, grams)
        print(f"Bloom filters: {bits} bits, {hashes} hashes, {grams}-grams, {RECORDS:,} names, one core")
        print(f"  accord   {ours:8.2f} µs per record")
        print(f"  clkhash  {theirs:8.2f} µs per record: {theirs / ours:.0f} times (to reach: 10)")


def _clkhash(names: pa.Array, bits: int, hashes: int, grams: int) -> float:
    if not PEERS.exists():
        sys.exit("clkhash lives in .venv-peers: run `make bench`")
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
        file.write("\n".join(f'"{name}"' for name in names.to_pylist()) + "\n")
        file.flush()
        command = [str(PEERS), "-c", _PEER, str(bits), str(hashes), str(grams), file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    return float(result["seconds"]) / int(result["records"]) * 1e6
