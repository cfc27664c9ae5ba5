"""An agreement with faults: all of them at once, with line and mend."""

from __future__ import annotations

import contextlib
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.agreement.file import parse_agreement, read_agreement, require_sound
from accord.datasets.starter import starter_text
from accord.errors import AccordError, AgreementError, UnreadableError
from accord.matching.rule import Within
from accord.matching.rule_words import same
from accord.protocols.laplace import Laplace

TEXT = starter_text("products", "00000000")


def faults(text: str) -> list[str]:
    with pytest.raises(AgreementError) as caught:
        parse_agreement(text)
    assert caught.value.exit_code == 3
    return [str(fault) for fault in caught.value.faults]


def line_of(needle: str, text: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if needle in line)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version = 1", "version = 2", "should be 1"),
        ('salt = "00000000"', 'salt = "xyz"', "8 to 64 hexadecimal digits"),
        ('engine = "ot"', 'engine = "magic"', "Known are 'ot', 'garbled', 'paillier', 'paillier-packed'"),
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
        ("hamming(name) <= 5", "euclidean(day, day) <= 2", "stands twice"),
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
        ("prune = 0", "prune = true", "valid integer"),
        ('name = "laplace"', 'name = "lapace"', "'lapace' is not known here"),
        ("sort = true", 'sort = "maybe"', "valid boolean"),
        ("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 0", "greater than or equal to 1"),
        ("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 21", "less than or equal to 20"),
        ("epsilon = 1.6", 'epsilon = 1.6\nrecords_per_person = "2"', "valid integer"),
        ("epsilon = 1.6", "epsilon = 1.6\nrecord_per_person = 2", "Did you mean 'records_per_person'"),
        ('noise = "auto"', 'records_per_person = 2\nnoise = "paper"', "needs the noise 'auto'"),
        ('noise = "auto"', 'records_per_person = 2\nnoise = "negligible"', "needs the noise"),
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
    '[fields.alias]\ntype = "text"\nencoder = "paper"\nhash_key = "name"\n\n'
    '[fields.code]\ntype = "text"\nencoder = "hash"\n\n[fields.label]\ntype = "text"\nencoder = "hash"\n\n'
    '[fields.paid]\ntype = "date"\nmin = 2026-03-01\nmax = 2027-03-31\nmissing = "skip"\n\n[fields.name]',
).replace("greedy = true", "greedy = false")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("dice(name, alias) >= 0.8 and hamming(alias, name) <= 5", None),
        ("same(code, label)", 'under different names, so that equal texts differ; write hash_key = "code"'),
        ("dice(name, code) >= 0.8", "encoded in different ways; write the same encoder under [fields.name]"),
        ("within(day, paid, 2 days)", "write the same max under [fields.day] and [fields.paid]"),
        ("within(day, paid, 2)", "in days"),
        ("same(day, brand)", "day is a date and brand a category; fields that are compared need one type"),
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
    text = starter_text("places", "00000000").replace("reach = 0.001", "")
    assert faults(text)[0].startswith(
        f"line {line_of('[[blocking]]', text) + 6}, blocking[2]: reach goes with"
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


def test_protocol_and_blocking_must_fit() -> None:
    start, end = TEXT.index("[[blocking]]"), TEXT.index("# The Laplace")
    assert "laplace needs a blocking" in faults(TEXT[:start] + TEXT[end:])[0]
    start, end = TEXT.index("[protocol]"), TEXT.index("# What each side")
    all_pairs = '[protocol]\nname = "all-pairs"\n'
    assert "remove the blocking" in faults(TEXT[:start] + all_pairs + TEXT[end:])[0]


def test_greedy_needs_the_fields_of_the_blocking_disclosed_too() -> None:
    text = TEXT.replace("same(day) and same(brand) and", "same(day) and").replace(
        '"brand", "name"]', '"name"]'
    )
    found = faults(text)
    assert [fault.split(": ")[1][:44] for fault in found] == [
        "greedy discloses the fields of rule and bloc"
    ] * 2
    assert "add brand to disclose.A" in found[0]


def test_one_to_one_needs_the_fields_of_the_rule_disclosed() -> None:
    text = TEXT.replace("version = 1", "version = 1\none_to_one = true")
    assert parse_agreement(text).one_to_one
    hidden = text.replace("greedy = true", "greedy = false").replace('"brand", "name"]', '"brand"]', 1)
    problem = "one_to_one chooses among matches by the fields of the rule, which both sides must see"
    mend = "add name to disclose.A or set one_to_one = false."
    assert faults(hidden) == [f"line {line_of('A = [', hidden)}, disclose.A: {problem}; {mend}"]
    assert len(faults(hidden.replace("greedy = false", "greedy = true"))) == 2
    # The blocking's fields are no part of it.
    rule = hidden.replace("same(day) and same(brand) and hamming(name) <= 5", "same(day)")
    assert parse_agreement(rule.replace('"brand"]', "]").replace('"brand", "name"]', "]")).one_to_one
    assert "should be a valid boolean" in faults(text.replace("one_to_one = true", "one_to_one = 1"))[0]


def test_too_many_bins_are_refused_with_their_number() -> None:
    text = (
        starter_text("places", "00000000")
        .replace("cell = 0.02", "cell = 0.00001")
        .replace("0.001", "0.00001")
    )
    assert "1,536,000,000 bins" in faults(text)[0]


def test_a_grid_must_fit_its_fields() -> None:
    text = starter_text("places", "00000000")
    assert "multiple of the fields' step" in faults(text.replace("cell = 0.02", "cell = 0.0000005"))[0]
    assert "over 1000 cells" in faults(text.replace("cell = 0.02", "cell = 0.00001"))[0]
    assert "reach goes with style" in faults(text.replace("reach = 0.001", ""))[0]
    other = text.replace("max = 40.790719", "max = 40.79072\nstep = 0.00001")
    assert any("one and the same step" in fault for fault in faults(other))


def test_not_toml() -> None:
    assert "line 3" in faults("version = 1\nsalt = 'x'\nrule = \n")[0]


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


def changed(protocol: str, rule: str | None = None, blocking: bool = True) -> str:
    """The products agreement with another [protocol] table, without greedy's demands."""
    head, rest = TEXT[: TEXT.index("[protocol]")], TEXT[TEXT.index("# What each side") :]
    if not blocking:
        head = head[: head.index("[[blocking]]")]
    if rule is not None:
        head = head.replace("same(day) and same(brand) and hamming(name) <= 5", rule)
    return head + f"[protocol]\n{protocol}\n" + rest


def test_sound_agreements_of_the_other_protocols_read_back() -> None:
    sides = "\n[protocol.A]\nepsilon = 1.6\n[protocol.B]\npublic = true"
    for text in (
        changed('name = "psi"', "same(day) and same(brand)", blocking=False),
        changed('name = "psi-expand"', "same(day) and hamming(name) <= 3", blocking=False),
        changed(f'name = "local-dp"\nwindow = 8{sides}'),
        changed(f'name = "local-dp"\nwindow = 8\nspread = 2\ngreedy = false{sides}'),
    ):
        agreed = parse_agreement(text)
        again = parse_agreement(agreed.to_toml())
        assert again == agreed
        assert again.digest == agreed.digest


LOCAL = "[protocol.A]\nepsilon = 1\n[protocol.B]\nepsilon = 1"
ONE = 'name = "local-dp"\nwindow = 1'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (changed('name = "psi"', "same(day)"), "psi compares everything; remove the blocking"),
        (changed('name = "psi"', blocking=False), "psi finds equal values and not 'hamming(name) <= 5'"),
        (changed('name = "psi"', "same(day) or same(brand)", blocking=False), "join same(...)s by and"),
        (changed('name = "psi-expand"', "dice(name) >= 0.9", blocking=False), "psi-expand cannot list"),
        (changed('name = "psi-expand"', "not same(day)", blocking=False), "psi-expand cannot list"),
        (changed('name = "psi-expand"', "hamming(name) <= 9", blocking=False), "3,160,457,386 values"),
        (changed('name = "psi-expand"', "same(day) and within(day, 2 days)", blocking=False), "field once"),
        (changed(f'name = "local-dp"\nwindow = 1\n{LOCAL}', blocking=False), "local-dp needs a blocking"),
        (changed(f'name = "local-dp"\nwindow = 497\n{LOCAL}'), "at most the 496 bins"),
        (changed(f'name = "local-dp"\nwindow = 2\nspread = 3\n{LOCAL}'), "spread must be at most the window"),
        (changed(f'name = "local-dp"\nwindow = 0\n{LOCAL}'), "greater than or equal to 1"),
        (changed(f'name = "local-dp"\n{LOCAL}'), "'window' is missing"),
        (
            changed(f"{ONE}\n[protocol.A]\npublic = true\n[protocol.B]\npublic = true"),
            "protects nothing if both sides are public",
        ),
        (
            changed(f"{ONE}\n[protocol.A]\n[protocol.B]\nepsilon = 1"),
            "needs either epsilon, or public = true",
        ),
        (
            changed(f"{ONE}\n[protocol.A]\npublic = true\nepsilon = 1\n[protocol.B]\nepsilon = 1"),
            "needs either epsilon, or public = true",
        ),
        (changed('name = "blocking"'), "blocking leaks, so no agreement may name it"),
        (changed('name = "laplace-suppress"\nepsilon = 1'), "laplace-suppress leaks"),
    ],
)  # fmt: skip
def test_what_a_protocol_needs(text: str, problem: str) -> None:
    found = [fault for fault in faults(text) if problem in fault]
    assert len(found) == 1, faults(text)
    assert found[0].startswith("line ")


def test_local_dp_needs_keys_and_not_a_grid() -> None:
    text = starter_text("places", "00000000")
    start, end = text.index("[protocol]"), text.index("# What each side")
    sides = "[protocol.A]\nepsilon = 1\n[protocol.B]\nepsilon = 1\n"
    text = text[:start] + f'[protocol]\nname = "local-dp"\nwindow = 1\n{sides}\n' + text[end:]
    assert any("block by key alone" in fault for fault in faults(text))


def test_a_simulation_may_try_psi_on_a_fuzzy_rule() -> None:
    text = changed('name = "psi"', blocking=False)
    assert parse_agreement(text, simulated=True).protocol.name == "psi"
    denied = changed('name = "psi"', "same(day) and not same(brand)", blocking=False)
    with pytest.raises(AgreementError, match="a rule with 'not', 'missing', 'rarity' or a score may deny"):
        parse_agreement(denied, simulated=True)


_OF_A_FIELD = '''from = "title"
[fields.first]
type = "text"
encoder = "hash"
from = "name"
derive = "initial"'''


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ('clean = ["acents"]', "clean[1]: 'acents' is no step of cleaning. Did you mean 'accents'?"),
        ('clean = "accents"', "should be a list"),
        ('derive = "sondex"', "Did you mean 'soundex'?"),
        ('form = "title"', "Did you mean 'from'?"),
        ('sources = ["title"]', "'sources' is not known here"),
        ("missing_values = [7]", "a list of texts, each in quotes"),
        ('from = ["name", "maker"]', "add name to disclose.A"),
        (_OF_A_FIELD, "'name' is a field made of title, and a field is made of columns. Name the columns"),
    ],
)
def test_a_recipe_that_cannot_be(said: str, problem: str) -> None:
    found = faults(TEXT.replace('encoder = "paper"', f'encoder = "paper"\n{said}'))
    assert any(problem in fault for fault in found), found
    assert all(fault.startswith("line ") for fault in found)
    assert not any("?." in fault for fault in found)


def test_greedy_shows_a_made_field_by_itself_or_with_its_columns() -> None:
    made = TEXT.replace('encoder = "paper"', 'encoder = "paper"\nfrom = "title"')
    for shown in ('"name"', '"title"'):
        parse_agreement(made.replace('["day", "brand", "name"]', f'["day", "brand", {shown}]'))


PASSES = """[[blocking.pass]]
name = "day and brand"
parts = [{ kind = "key", field = ["day", "brand"], buckets = 300 }]

[[blocking.pass]]
parts = [
    { kind = "key", field = "brand" },
    { kind = "lsh", field = "name", positions = 6, tables = 3 },
]

"""


def with_passes(*changes: tuple[str, str]) -> str:
    start, end = TEXT.index("[[blocking]]"), TEXT.index("# The Laplace Protocol")
    passes = PASSES
    for old, new in changes:
        assert old in passes
        passes = passes.replace(old, new, 1)
    return TEXT[:start] + passes + TEXT[end:]


def test_passes_read_back() -> None:
    agreed = parse_agreement(with_passes())
    assert parse_agreement(agreed.to_toml()).digest == agreed.digest
    assert agreed.plan.bins == 300 + 3 * 16 * 64
    assert [one.name for one in agreed.plan.passes] == ["day and brand", *["pass 2"] * 3]
    assert agreed.blocking_fields == ("day", "brand", "name")
    assert isinstance(agreed.protocol, Laplace)
    assert agreed.protocol.closure == "candidates"
    require_sound(agreed)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('[[blocking.pass]]\nname = "x"\n', "'parts' is missing. Add it."),
        ('[blocking.pass]\nname = "x"\n', "'pass' should be a list: write [[blocking.pass]] before each."),
        ("[[blocking.pass]]\nparts = 7\n", 'write parts = [{ kind = "key", field = "day" }].'),
        ('[[blocking.pass]]\nparts = [{ field = "day" }]\n', "part 1 needs the key 'kind'."),
        ("[blocking]\npass = []\n", "'pass' needs at least one entry."),
    ],
)
def test_a_faulty_only_pass_is_one_fault(written: str, problem: str) -> None:
    (fault,) = faults(with_passes((PASSES, written)))
    assert fault.endswith(problem)


def test_closure_is_as_written_also_with_passes() -> None:
    agreed = parse_agreement(with_passes().replace("greedy = true", 'greedy = true\nclosure = "all"'))
    assert isinstance(agreed.protocol, Laplace)
    assert agreed.protocol.closure == "all"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('parts = [{ kind = "key", field = ["day", "brand"], buckets = 300 }]', "parts = []",
         "a pass without parts compares all pairs"),
        (', buckets = 300', "", "say into how many buckets, or write a part for each"),
        ('["day", "brand"]', '["day"]', "a list of fields has at least two"),
        ('["day", "brand"]', '["day", "day"]', "a field stands twice"),
        ('["day", "brand"]', '["day", "name"]', "'name' is a Bloom filter"),
        ('["day", "brand"]', '["day", "bran"]', "'bran' is not an agreed field"),
        ('["day", "brand"]', "7", "should be a valid string"),
        ('"day and brand"', '"pass 2"', "another pass is called 'pass 2'"),
        ('"day and brand"', '"<b>"', "begin with a letter or digit"),
        ("positions = 6", "positions = 18", "12,583,212 bins"),
        ("tables = 3", "tables = 64", "a record would fall into 65 bins, and noise hides it in at most 64"),
        ("positions = 6", "positions = 0", "greater than or equal to 1"),
        ('field = "name", p', 'field = "day", p', "'day' is no Bloom filter"),
        ('kind = "key", field = "brand"', 'kind = "lsh", field = "name", positions = 1, tables = 1',
         "at most one part of kind lsh"),
        ("tables = 3", "tabls = 3", "Did you mean 'tables'?"),
    ],
)  # fmt: skip
def test_one_fault_of_a_pass_with_its_line(old: str, new: str, problem: str) -> None:
    text = with_passes((old, new))
    found = [fault for fault in faults(text) if problem in fault]
    assert len(found) == 1, faults(text)
    assert found[0].startswith("line ")
    line = int(re.findall(r"line (\d+)", found[0])[0])
    assert line >= line_of("[[blocking.pass]]", text)


def test_parts_as_tables_of_their_own_have_their_lines() -> None:
    parts = '[[blocking.pass.parts]]\nkind = "key"\nfield = "brand"\n'
    text = with_passes((PASSES, f"[[blocking.pass]]\n{parts}[[blocking.pass]]\n{parts}bucket = 3\n\n"))
    (fault,) = faults(text)
    assert fault.startswith(f"line {line_of('bucket = 3', text)}, blocking.pass[2].parts[1].bucket: ")


def test_which_protocols_take_passes() -> None:
    passes = with_passes()
    head, rest = passes[: passes.index("[protocol]")], passes[passes.index("# What each side") :]
    for protocol, problem in (
        (f"{ONE}\n{LOCAL}", "local-dp has one report a record, and each pass would need one; keep one pass"),
        ('name = "all-pairs"', "all-pairs compares everything; remove the blocking"),
    ):
        (fault,) = [
            f for f in faults(f"{head}[protocol]\n{protocol}\n{rest}") if "line" in f and problem in f
        ]
        assert fault.startswith(f"line {line_of('[[blocking.pass]]', passes)}, blocking:")


_RARE = """[fields.rare]
type = "frequency"
from = "name"
list = "ours"
digest = "sha256:DIGEST"
shares = ["1/100", "1/1000"]
""".replace("DIGEST", "0" * 64)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "sha256:",
            "",
            "'digest' should be sha256: and 64 hexadecimal digits; `accord check --digest-of LIST`",
        ),
        ('list = "ours"', 'list = "our list"', "'list' should begin with a letter or digit"),
        ('list = "ours"\n', "", "'list' is missing. Add it."),
        ('["1/100", "1/1000"]', '"1/100"', 'should be a list: write shares = ["1/100", "1/1000"]'),
        ('["1/100", "1/1000"]', '["1/1000", "1/100"]', "shares must fall from one to the next"),
        ('"1/1000"]', '"rare"]', "must be a number such as"),
        ("shares", 'values = ["x"]\nshares', "'values' does not belong here"),
    ],
)
def test_faults_of_frequencies(old: str, new: str, problem: str) -> None:
    text = changed('name = "all-pairs"\ngreedy = false', blocking=False)
    sound = text.replace("[fields.name]", f"{_RARE}[fields.name]")
    assert any(problem in fault for fault in faults(sound.replace(old, new, 1))), faults(
        sound.replace(old, new)
    )


def test_a_class_of_frequencies_is_no_key() -> None:
    text = starter_text("products", "00000000").replace("[fields.name]", f"{_RARE}[fields.name]")
    found = faults(text.replace('field = "brand"', 'field = "rare"'))
    assert any(
        "'rare' is a class of frequencies, which many values share; name the value" in f for f in found
    )


@pytest.mark.parametrize(
    ("protocol", "simulated", "problem"),
    [
        ("psi", True, "which a rule with 'not', 'missing', 'rarity' or a score may deny"),
        ("psi", False, "psi finds equal values and not 'rarity(rare) >= 1'"),
        ("psi-expand", False, "psi-expand cannot list what 'rarity(rare) >= 1' accepts"),
    ],
)
def test_sets_of_values_know_no_classes(protocol: str, simulated: bool, problem: str) -> None:
    text = changed(f'name = "{protocol}"', "same(brand) and rarity(rare) >= 1", blocking=False)
    with pytest.raises(AgreementError, match=re.escape(problem)):
        parse_agreement(text.replace("[fields.name]", f"{_RARE}[fields.name]"), simulated=simulated)
