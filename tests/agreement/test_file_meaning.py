"""Parts of an agreement that do not fit each other."""

from __future__ import annotations

import re

import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, require_sound
from accord.errors import AgreementError
from reproduction.places import places_agreement, places_text
from tests.agreement.faulty import TEXT, faults, line_of


def changed(protocol: str, rule: str | None = None, blocking: bool = True) -> str:
    """The products agreement with another [protocol] table, without greedy's demands."""
    head, rest = TEXT[: TEXT.index("[protocol]")], TEXT[TEXT.index("# What each side") :]
    if not blocking:
        head = head[: head.index("[[blocking]]")]
    if rule is not None:
        head = head.replace("same(day) and same(brand) and hamming(name) <= 5", rule)
    return head + f"[protocol]\n{protocol}\n" + rest


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


def test_one_to_one_by_score_needs_the_fields_of_the_rule_disclosed() -> None:
    score = "same(day) and score(brand: same -> 1; name: hamming <= 5 -> 1) >= 2"
    text = TEXT.replace("version = 2", 'version = 2\none_to_one = "score"')
    text = text.replace("same(day) and same(brand) and hamming(name) <= 5", score)
    assert parse_agreement(text).one_to_one == "score"
    hidden = text.replace("greedy = true", "greedy = false").replace('"brand", "name"]', '"brand"]', 1)
    problem = "one_to_one chooses by the score, for which both sides must see the fields of the rule"
    mend = 'add name to disclose.A or set one_to_one = "pairs".'
    assert faults(hidden) == [f"line {line_of('A = [', hidden)}, disclose.A: {problem}; {mend}"]
    assert len(faults(hidden.replace("greedy = false", "greedy = true"))) == 2
    assert parse_agreement(hidden.replace('"score"', '"pairs"')).one_to_one == "pairs"
    without = faults(text.replace(score, "same(day)"))
    line = line_of("one_to_one", text)
    problem = 'the rule does not ask for a score by which to choose; take "pairs".'
    assert without == [f"line {line}, one_to_one: {problem}"]
    for other in ("true", "1", '"best"'):
        assert 'must be false, "score" or "pairs"' in faults(text.replace('"score"', other))[0]


def test_too_many_bins_are_refused_with_their_number() -> None:
    text = places_text().replace("cell = 0.02", "cell = 0.00001").replace("0.001", "0.00001")
    assert "1,536,000,000 bins" in faults(text)[0]


def test_a_grid_must_fit_its_fields() -> None:
    text = places_text()
    assert "multiple of the fields' step" in faults(text.replace("cell = 0.02", "cell = 0.0000005"))[0]
    assert "over 1000 cells" in faults(text.replace("cell = 0.02", "cell = 0.00001"))[0]
    assert "reach belongs to style" in faults(text.replace("reach = 0.001", ""))[0]
    other = text.replace("max = 40.790719", "max = 40.79072\nstep = 0.00001")
    assert any("need the same step" in fault for fault in faults(other))


def test_sound_agreements_of_the_other_protocols_read_back() -> None:
    for text in (
        changed('name = "psi"', "same(day) and same(brand)", blocking=False),
        changed('name = "all-pairs"', blocking=False),
    ):
        agreed = parse_agreement(text)
        again = parse_agreement(agreed.to_toml())
        assert again == agreed
        assert again.digest == agreed.digest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (changed('name = "psi"', "same(day)"), "psi compares everything; remove the blocking"),
        (changed('name = "psi"', blocking=False), "psi finds equal values and not 'hamming(name) <= 5'"),
        (changed('name = "psi"', "same(day) or same(brand)", blocking=False), "join same(...)s by and"),
    ],
)  # fmt: skip
def test_what_a_protocol_needs(text: str, problem: str) -> None:
    found = [fault for fault in faults(text) if problem in fault]
    assert len(found) == 1, faults(text)
    assert found[0].startswith("line ")


def test_a_simulation_may_try_psi_on_a_fuzzy_rule() -> None:
    text = changed('name = "psi"', blocking=False)
    assert parse_agreement(text, simulated=True).protocol.name == "psi"
    denied = changed('name = "psi"', "same(day) and not same(brand)", blocking=False)
    with pytest.raises(AgreementError, match="a rule with 'not', 'missing' or a score may deny"):
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
        ('clean = ["acents"]', "clean[1]: 'acents' is not a cleaning step. Did you mean 'accents'?"),
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
parts = [{ kind = "key", field = "brand" }]

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
    assert agreed.plan.bins == 300 + 16
    assert [one.name for one in agreed.plan.passes] == ["day and brand", "pass 2"]
    assert agreed.blocking_fields == ("day", "brand")
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


def test_a_record_is_in_no_more_bins_than_noise_can_hide() -> None:
    plain = places_agreement().model_dump(mode="json")
    grid = {"kind": "grid", "fields": ["lat", "lon"], "cell": "0.02", "style": "replicate", "reach": "0.001"}
    blocking = {"pass": [{"parts": [grid]} for _ in range(17)]}
    with pytest.raises(AgreementError, match="into 68 bins, but noise can hide it in at most 64"):
        require_sound(Agreement.model_validate(plain | {"blocking": blocking}))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('parts = [{ kind = "key", field = ["day", "brand"], buckets = 300 }]', "parts = []",
         "a pass without parts compares all pairs"),
        (', buckets = 300', "", "say into how many buckets, or write a part for each"),
        ('["day", "brand"]', '["day"]', "a list of fields has at least two"),
        ('["day", "brand"]', '["day", "day"]', "a field is named twice"),
        ('["day", "brand"]', '["day", "name"]', "'name' is a Bloom filter"),
        ('["day", "brand"]', '["day", "bran"]', "'bran' is not an agreed field"),
        ('["day", "brand"]', "7", "should be a valid string"),
        ('"day and brand"', '"pass 2"', "another pass is also called 'pass 2'"),
        ('"day and brand"', '"<b>"', "begin with a letter or digit"),
        ("buckets = 300", "buckets = 4999999", "5,000,015 bins"),
        ("buckets = 300", "buckets = 0", "greater than or equal to 1"),
        ("buckets = 300", "bucket = 300", "Did you mean 'buckets'?"),
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
    problem = "all-pairs compares everything; remove the blocking"
    found = faults(f'{head}[protocol]\nname = "all-pairs"\n{rest}')
    (fault,) = [f for f in found if "line" in f and problem in f]
    assert fault.startswith(f"line {line_of('[[blocking.pass]]', passes)}, blocking:")
