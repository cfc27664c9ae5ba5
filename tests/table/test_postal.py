"""Parts of addresses that stand in one cell."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.table.postal import ADDRESSES, PARTS, PLACES, PostalOrder, full_share, likeliest_order, read_part

READ: dict[PostalOrder, dict[str, tuple[str | None, str | None, str | None]]] = {
    "street postcode city": {
        "Via Roma 12, 10121 Torino": ("Via Roma 12", "10121", "Torino"),
        "Lipová 12, 602 00 Brno": ("Lipová 12", "602 00", "Brno"),
        "ul. Długa 5/7, 00-950 Warszawa": ("ul. Długa 5/7", "00-950", "Warszawa"),
        "KERKSTRAAT 5 1017 GA AMSTERDAM": ("KERKSTRAAT 5", "1017 GA", "AMSTERDAM"),
        "Hlavná 1234/5, SK-811 01 Bratislava": ("Hlavná 1234/5", "811 01", "Bratislava"),
        "Rua das Flores 12, 4000-123 Porto, Portugal": ("Rua das Flores 12", "4000-123", "Porto"),
        "Weg 3\n20095 Hamburg": ("Weg 3", "20095", "Hamburg"),
        "Weg 3\n20095 Hamburg\nDeutschland": ("Weg 3", "20095", "Hamburg"),
        "Krátká 3, 110 00 Praha 1": ("Krátká 3", "110 00", "Praha 1"),
        "Krátká 3, 101 00 Praha 10 - Vršovice": ("Krátká 3", "101 00", "Praha 10 - Vršovice"),
        "3 rue X, 75010 Paris Cedex 10": ("3 rue X", "75010", "Paris Cedex 10"),
        "Via Roma 12, 10121 Torino (TO)": ("Via Roma 12", "10121", "Torino"),
        "12 Main St, H91 E2K3 Galway": ("12 Main St", "H91 E2K3", "Galway"),
        # The number of a house is no postcode.
        "Av. Corrientes 1234, Buenos Aires": ("Av. Corrientes 1234", None, "Buenos Aires"),
        "Dlouhá 1179, Hodonín": ("Dlouhá 1179", None, "Hodonín"),
        "Lipová 12, Brno": ("Lipová 12", None, "Brno"),
        "602 00 Brno": (None, "602 00", "Brno"),
        "Lipová 12": ("Lipová 12", None, None),
    },
    "street city postcode": {
        "12 High St, Flat 3, Leeds, LS1 4AB": ("12 High St, Flat 3", "LS1 4AB", "Leeds"),
        "1234 Main St, Springfield, IL 62704": ("1234 Main St", "62704", "Springfield"),
        "Rua X, 12, São Paulo - SP, 01310-100": ("Rua X, 12", "01310-100", "São Paulo"),
        "5 Pitt St, Sydney, NSW, 2000": ("5 Pitt St", "2000", "Sydney"),
        "Rua X 12, São Paulo, CEP 01310-100": ("Rua X 12", "01310-100", "São Paulo"),
        "1 King St, Toronto, ON K1M 1M4": ("1 King St", "K1M 1M4", "Toronto"),
        "12 High St, Leeds, ls1 4ab": ("12 High St", "ls1 4ab", "Leeds"),
        "London SW1A 1AA": (None, "SW1A 1AA", "London"),
    },
    "postcode city street": {"1051 Budapest, Fő utca 3.": ("Fő utca 3.", "1051", "Budapest")},
    "postcode city": {
        "20095 Hamburg": (None, "20095", "Hamburg"),
        "20095": (None, "20095", None),
        "Hamburg": (None, None, "Hamburg"),
    },
    "city postcode": {"Berlin, 10115": (None, "10115", "Berlin"), "Berlin": (None, None, "Berlin")},
}


@pytest.mark.parametrize("order", READ)
def test_parts(order: PostalOrder) -> None:
    cells = pa.array([*READ[order]], pa.large_string())
    read = zip(*(read_part(cells, part, order).to_pylist() for part in PARTS), strict=True)
    assert dict(zip(READ[order], read, strict=True)) == READ[order]


def test_the_order_is_that_of_most_cells() -> None:
    for order, cells in READ.items():
        assert likeliest_order([*cells], PLACES if order in PLACES else ADDRESSES) == order
    assert full_share(["Lipová 12, 602 00 Brno", "Lipová 12"], ADDRESSES) == 0.5
    assert full_share([], PLACES) == 0.0
    # Years, and numbers in the names of things.
    for things in (["London, 1897", "Paris 1888"], ["Toy Story 1995 Animation", "Logitech Mouse 1000 Black"]):
        assert full_share(things, (*PLACES, *ADDRESSES)) == 0.0


@given(st.lists(st.text(max_size=30), max_size=6), st.sampled_from([*PLACES, *ADDRESSES]))
def test_no_cell_is_lost_and_none_decides_about_another(cells: list[str], order: PostalOrder) -> None:
    """Whatever stands there, the parts of a cell are those of the cell alone; missing cells stay missing."""
    texts = pa.array([*cells, None], pa.large_string())
    for part in PARTS:
        read = read_part(texts, part, order).to_pylist()
        assert read[-1] is None
        alone = [read_part(texts.slice(place, 1), part, order)[0].as_py() for place in range(len(texts))]
        assert read == alone
