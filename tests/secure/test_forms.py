"""Forms: own parts and shifted products add up to the value of the plain interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.circuit import AtMost, Equal, Hamming, Input, Product, SquaredEuclidean, inputs
from accord.secure.forms import Formed, choice_bits, factors, form_of, own_part
from accord.secure.ideal import _value
from accord.side import Side
from tests.secure.worlds import AHEAD, BITS, CODE, COSINE, DICE, FAR, POINT, table

EVEN = Product(BITS, Input("grade", 9, 7), -24)


@pytest.mark.parametrize(
    "of", [Hamming(BITS), SquaredEuclidean(POINT), SquaredEuclidean(FAR), DICE, AHEAD, COSINE, Equal(CODE)]
)
def test_the_parts_add_up_to_the_value(of: Formed) -> None:
    random = np.random.default_rng(0)
    circuit = of if isinstance(of, Equal) else AtMost(of, 0)
    a, b = table(random, circuit, Side.A, 20), table(random, circuit, Side.B, 20)
    assert inputs(circuit, Side.A)
    form = form_of(of)
    bits = choice_bits(form, a.read)
    factor = factors(form, b.read)
    total = own_part(form, Side.A, a.read, 20) + own_part(form, Side.B, b.read, 20)
    for shift, bit, f in zip(form.shifts, bits, factor, strict=False):
        total = total + (bit * f << shift)
    rows = np.arange(20)
    if isinstance(of, Equal):
        same = np.all(a.inputs[CODE.name] == b.inputs[CODE.name], axis=1)
        assert ((total == 0) == same).all()
    else:
        assert (total == _value(of, a.inputs, b.inputs, rows, rows)).all()
    assert form.low <= total.min()
    assert total.max() <= form.high


def test_powers_of_two_leave_the_weight() -> None:
    from accord.secure.circuit import Bilinear

    form = form_of(Bilinear((EVEN,), None, 0, 0, -2000, 0))
    assert form.shifts == (3,) * 9
    values = np.arange(9)[None, :] % 8
    assert (factors(form, lambda of: values)[:, 0] == -3 * values[0]).all()
