"""An agreement with faults: all of them at once, with line and mend."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.file import parse_agreement, read_agreement, require_sound
from accord.errors import AccordError, AgreementError, UnreadableError
from accord.rules.rule import Within
from accord.rules.words import same
from reproduction.places import places_text
from tests.agreement.faulty import TEXT, faults, line_of


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version = 2", "version = 1", "should be 2"),
        ('salt = "00000000"', 'salt = "xyz"', "8 to 64 hexadecimal digits"),
        ('engine = "ot"', 'engine = "magic"', "Known are 'ot', 'dual'."),
        ("hamming(name) <= 5", "haming(name) <= 5", "did you mean 'hamming'"),
        ("hamming(name) <= 5", "hamming(title) <= 5", "'title' is not an agreed field"),
        ("hamming(name) <= 5", "hamming(nane) <= 5", "did you mean 'name'"),
        ("hamming(name) <= 5", "hamming(name) <= 50", "from 0 to 49"),
        ("hamming(name) <= 5", "hamming(brand) <= 5", "needs a text field"),
        ("hamming(name) <= 5", "same(name)", 'needs encoder = "hash"'),
        ("hamming(name) <= 5", "cosine(name) >= 1.5", "above 0 and at most 1"),
        ("hamming(name) <= 5", "cosine(name) >= 0.12345", "four decimals"),
        ("hamming(name) <= 5", "within(day, 2)", "in days"),
        ("hamming(name) <= 5", "within(brand, 2)", "numbers or dates"),
        ("hamming(name) <= 5", "euclidean(day, day) <= 2", "is named twice"),
        ('type = "date"', 'type = "dat"', "'dat' is not known here"),
        ("max = 2026-03-31", "max = 2025-03-31", "not be before min"),
        ('encoder = "paper"', "", "'encoder' is missing"),
        ('encoder = "paper"', 'encodr = "paper"', "Did you mean 'encoder'"),
        ('field = "brand"', 'field = "colour"', "'colour' is not an agreed field"),
        ('field = "brand"', 'field = "name"', "Bloom filter"),
        ('field = "brand"', 'field = "day"', "used by another part"),
        ("epsilon = 1.6", "epsilon = 0", "greater than 0"),
        ("epsilon = 1.6", 'epsilon = "lots"', "must be a number"),
        ('delta = "2^-40"', "delta = 1", "less than 1"),
        ('noise = "auto"', 'noise = "paper-2017"', "should be 'auto', 'geometric'"),
        ('B = "south-shop"', 'B = "north-shop"', "different names"),
        ('A = ["day", "brand", "name"]', 'A = ["day"]', "add brand, name to disclose.A or set"),
        ("epsilon = 1.6", "epsilon = 1e9", "less than or equal to 64"),
        ("epsilon = 1.6", "epsilon = 1e5000", "must be a number"),
        ('delta = "2^-40"', 'delta = "2^-200"', "greater than or equal to"),
        ('delta = "2^-40"', 'delta = "7^-999"', "at most 60 characters"),
        ('A = "north-shop"', 'A = "B"', "a name of its own"),
        ('A = "north-shop"', 'A = "<b>"', "begin with a letter or digit"),
        ('A = ["day", "brand", "name"]', 'A = ["day", "brand", "name", "id"]', "always disclosed"),
        ('A = ["day", "brand", "name"]', 'A = "day"', "should be a list"),
        ("greedy = true", 'greedy = "true"', "valid boolean"),
        ("prune = 0", "prune = true", "a whole number"),
        ('name = "laplace"', 'name = "lapace"', "'lapace' is not known here"),
        # A plug-in of the laboratory, which is not loaded here.
        ('name = "laplace"', 'name = "local-dp"', "'local-dp' is not known here"),
        ("sort = true", 'sort = "maybe"', "valid boolean"),
        ("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 0", "greater than or equal to 1"),
        ("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 21", "less than or equal to 20"),
        ("epsilon = 1.6", 'epsilon = 1.6\nrecords_per_person = "2"', "a whole number"),
        ("epsilon = 1.6", "epsilon = 1.6\nrecord_per_person = 2", "Did you mean 'records_per_person'"),
        ("[disclose]", "[most_matches]\n[disclose]", "needs A, B or both"),
        ("[disclose]", "most_matches.A = 0\n[disclose]", "does not belong here"),
        ("[disclose]", "[most_matches]\nA = 0\n[disclose]", "'A' must be a number of records, at least 1"),
        ("[disclose]", '[most_matches]\nB = "200%"\n[disclose]', "'B' must be a number of records"),
        ("[disclose]", "[most_matches]\nC = 5\n[disclose]", "'C' is not known here"),
    ],
)  # fmt: skip
def test_one_fault_with_its_line(old: str, new: str, problem: str) -> None:
    text = TEXT.replace(old, new, 1)
    found = [fault for fault in faults(text) if problem in fault]
    assert len(found) == 1, faults(text)
    assert len(faults(text)) <= 2
    assert found[0].startswith("line ")


TWO_NAMES = TEXT.replace(
    "[fields.name]",
    '[fields.alias]\ntype = "text"\nencoder = "paper"\n\n'
    '[fields.code]\ntype = "text"\nencoder = "hash"\n\n[fields.label]\ntype = "text"\nencoder = "hash"\n\n'
    '[fields.paid]\ntype = "date"\nmin = 2026-03-01\nmax = 2027-03-31\nmissing = "skip"\n\n[fields.name]',
).replace("greedy = true", "greedy = false")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("dice(name, alias) >= 0.8 and hamming(alias, name) <= 5", None),
        ("same(code, label)", None),
        ("dice(name, code) >= 0.8", "encoded in different ways; write the same encoder under [fields.name]"),
        ("within(day, paid, 2 days)", "write the same max under [fields.day] and [fields.paid]"),
        ("within(day, paid, 2)", "in days"),
        ("same(day, brand)", "day is a date and brand a category; fields that are compared need the same"),
        ("same(name, alias)", 'needs encoder = "hash"'),
        ("same(day, dya)", "did you mean 'day'"),
        ("missing(code)", 'an empty code is an error; write missing = "differs" under [fields.code]'),
        ("not missing(paid, A)", "an empty paid leaves its record out"),
        ("either_way(same(day) and same(paid), day, paid)", "'same(paid, day)': paid and day are encoded"),
    ],
)  # fmt: skip
def test_crossed_fields_need_one_encoding_and_missing_its_policy(rule: str, problem: str | None) -> None:
    text = TWO_NAMES.replace("same(day) and same(brand) and hamming(name) <= 5", rule)
    if problem is None:
        assert str(parse_agreement(text).rule) == rule
        return
    found = faults(text)
    assert [fault for fault in found if problem in fault], found
    assert all(fault.startswith(f"line {line_of('rule =', text)}, rule: ") for fault in found)


def test_a_slip_of_a_whole_part_names_the_part() -> None:
    text = places_text().replace("reach = 0.001", "")
    assert faults(text)[0].startswith(
        f"line {line_of('[[blocking]]', text) + 6}, blocking[2]: reach belongs to"
    )


def test_an_agreement_built_in_python_is_judged_alike() -> None:
    agreed = parse_agreement(TEXT)
    require_sound(agreed)
    with pytest.raises(AgreementError, match="the number must not be below 0"):
        require_sound(agreed.model_copy(update={"rule": Within("day", Fraction(-1), True) & agreed.rule}))
    with pytest.raises(AgreementError, match="not an agreed field"):
        require_sound(agreed.model_copy(update={"rule": same("colour")}))


def test_the_line_is_that_of_the_slip() -> None:
    text = TEXT.replace('field = "brand"', 'fild = "brand"')
    place = line_of("fild", text)
    assert any(
        fault.startswith(f"line {place}, blocking[2].fild: 'fild' is not known") for fault in faults(text)
    )


def test_all_faults_at_once() -> None:
    text = (
        TEXT.replace("max = 2026-03-31", "max = 2025-03-31")
        .replace("<= 5", "<= 500")
        .replace("epsilon = 1.6", "epsilon = -1")
        .replace('field = "brand"', 'field = "colour"')
        .replace('A = "north-shop"', 'A = "south-shop"')
        .replace('B = ["day", "brand", "name"]', "B = []")
    )
    found = faults(text)
    assert len(found) == 7, found
    lines = [int(fault.split(",")[0].split()[1]) for fault in found]
    assert lines == sorted(lines)


def test_not_toml() -> None:
    assert "line 3" in faults("version = 2\nsalt = 'x'\nrule = \n")[0]


def test_files(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="accord init"):
        read_agreement(tmp_path / "none.toml")
    with pytest.raises(UnreadableError, match="is a directory"):
        read_agreement(tmp_path)
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableError, match="not UTF-8"):
        read_agreement(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text(TEXT)
    assert read_agreement(str(tmp_path / "a.toml")).parties.A == "north-shop"
    (tmp_path / "a.toml").write_text("")
    with pytest.raises(AgreementError, match="'rule' is missing"):
        read_agreement(tmp_path / "a.toml")


@given(
    st.sampled_from(TEXT.split("\n")), st.sampled_from(["", "x = 1", "[x]", "= 3", "[[fields]]", "rule = 3"])
)
def test_no_damage_to_a_line_gives_a_traceback(line: str, other: str) -> None:
    with contextlib.suppress(AccordError):
        parse_agreement(TEXT.replace(line, other, 1))


# -- what each protocol needs -------------------------------------------------------------------------------


def test_a_rule_that_the_agreed_engine_cannot_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.secure.garbled.boolean.MOST_WIRES", 40)
    text = TEXT.replace('engine = "ot"', 'engine = "dual"').replace("greedy = true", "greedy = false")
    (fault,) = faults(text)
    assert "'dual' cannot evaluate a rule that takes more than 40 gates and bits" in fault
    assert fault.startswith(f"line {line_of('engine =', text)}")
    parse_agreement(text, simulated=True)


@pytest.mark.parametrize(
    ("name", "content", "is_table"),
    [
        ("t.csv", b"id\n1\n", True),
        ("t.txt", b"id;name\n1;x\n", True),
        ("t.parquet", b"PAR1\xff", True),
        ("a.toml", b"version 1, really\n", True),
        ("a.toml", b"version = 2, 2\n", False),
        ("a.toml", b"\xff", False),
    ],
)
def test_a_table_in_the_place_of_the_agreement(
    tmp_path: Path, name: str, content: bytes, is_table: bool
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((AgreementError, UnreadableError)) as caught:
        read_agreement(tmp_path / name)
    assert ("Is it a table? The agreement comes first: `accord check" in str(caught.value)) == is_table


def test_a_list_of_texts_says_so_where_numbers_stand_in_it() -> None:
    by = '[output]\nanswer = "table"\nexact = true\n[output.by.A]\ncolumn = "x"\nvalues = ["a", 2]\n\n'
    found = [fault for fault in faults(TEXT.replace("[protocol]", f"{by}[protocol]")) if "values" in fault]
    (told,) = found
    assert told.endswith('\'values\' holds texts, each in quotes: write values = ["1", "2"].')
