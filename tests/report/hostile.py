"""Texts that would break a page that trusts them: names of parties and columns, accounts, paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from accord.agreement.document import Agreement, Parties
from accord.run.receipt import Receipt
from accord.run.remembered import Remembered

TAG = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
QUOTES = "\"'><b style='position:fixed;inset:0'>`&amp;&#60;"
TURNED = "abc\u202edcba\u202c\u2066x\u200f\u0000\u001b[31m"
LONG = "W" * 10_000
ALL = (TAG, QUOTES, TURNED, LONG)


def spoil(known: Remembered) -> Remembered:
    """The same run with hostile texts, past every check that would have refused them."""
    agreement = known.agreement.model_copy(
        update={"parties": Parties.model_construct(A=f"{TAG}{TURNED}", B=f"{QUOTES}{LONG}")}
    )
    assert known.receipt is not None
    return replace(
        known,
        agreement=agreement,
        receipt=_spoil_receipt(agreement, known.receipt),
        dataset=f"{TAG}{LONG}",
        snapshot=QUOTES,
        out=f"/{TURNED}/{LONG}",
    )


def _spoil_receipt(agreement: Agreement, receipt: Receipt) -> Receipt:
    said: dict[str, Any] = dict(receipt.facts)
    parties = {"A": agreement.parties.A, "B": agreement.parties.B}
    said["parties"] = {
        side: {**facts, "name": parties[side], "disclosed": [TAG, LONG]}
        for side, facts in said["parties"].items()
    }
    return replace(receipt, facts=said)
