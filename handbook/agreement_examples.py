"""An example of every table of an agreement, and where one reads on; tests put each into a sound one."""

from __future__ import annotations

EXAMPLES = {
    "parties": """
[parties]
A = "north-shop"
B = "south-shop"
""",
    "fields": """
[fields.surname]
type = "text"
encoder = { kind = "bloom", bits = 256, hashes = 2, grams = 2 }
clean = ["titles", "accents", "punctuation"]
missing = "differs"

[fields.birth]
type = "date"
min = 1900-01-01
max = 2030-12-31

[fields.surname_sound]
type = "text"
encoder = "hash"
from = "surname"
derive = "soundex"
missing = "differs"
""",
    "blocking": """
[[blocking.pass]]
name = "surname and year"
parts = [{ kind = "key", field = ["surname_sound", "birth_year"], buckets = 5000 }]

[[blocking.pass]]
parts = [
    { kind = "key", field = "postcode", buckets = 2000 },
    { kind = "key", field = "sex" },
]
""",
    "protocol": """
[protocol]
name = "laplace"
greedy = false

[protocol.A]
epsilon = 1.6
delta = "2^-40"
noise = "auto"

[protocol.B]
epsilon = 1.6
delta = "2^-40"
noise = "auto"
""",
    "output": """
[output]
answer = "table"
epsilon = 1

[output.by.A]
column = "sex"
values = ["f", "m"]

[output.by.B]
column = "ward"
values = ["north", "south"]
""",
    "disclose": """
[disclose]
A = ["name", "price"]
B = ["name"]
""",
    "most_matches": """
[most_matches]
A = 500
B = "5%"
""",
    "engine": """
[engine]
name = "ot"
network = "1000/2"
""",
    "expected": """
[expected]
A = 10000
B = 8000
""",
}
READ = {
    "parties": "A and B are the sides of all other tables.",
    "fields": "[Fields](../../fields.md) has the steps of `clean`, and what can be derived.",
    "blocking": "Without it all pairs meet. "
    "[Bins and routing](../../blocking.md) says when which is complete and cheap.",
    "protocol": "[Protocols](../../protocols/index.md) compares them; "
    "[choosing](../../epsilon.md) says which to take, and which ε.",
    "output": "Without it both sides learn the matching pairs by their ids. "
    "[Only how many](../../count.md) has examples; [what the partner learns](../../security.md) a table.",
    "disclose": 'The id, or with `ids = "pseudonyms"` a random name, is always shown.',
    "most_matches": "[What the bounds do](../../threat-model.md#what-the-bounds-do) says what happens then.",
    "engine": 'A name alone will do: `engine = "ot"`. [Engines](../../engines.md) says what each costs, and '
    "[the threat model](../../threat-model.md#by-engine) what a partner that cheats gets.",
    "expected": "`check`, `plan` and the question before a linkage say by it what a run will take.",
}
