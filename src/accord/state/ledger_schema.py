"""The tables of a ledger, and which version of them this is."""

VERSION = 3
APPLICATION = 0x41434C47

SCHEMA = (
    # `account` is the folded name, `name` the one that its owner gave; `confirmed` is 0 where an older
    # version made an account without a limit and nobody has said since that it shall have none.
    "CREATE TABLE accounts (account TEXT PRIMARY KEY, name TEXT NOT NULL, epsilon TEXT, delta TEXT, "
    "runs INTEGER, confirmed INTEGER NOT NULL)",
    "CREATE TABLE snapshots (place BLOB PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE drawings (drawing INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL, noise BLOB)",
    "CREATE UNIQUE INDEX one_noise_a_key ON drawings (key) WHERE noise IS NOT NULL",
    # `key` is NULL where no noise was drawn, and where version 1 drew it under a name of its own kind.
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, "
    "account TEXT NOT NULL REFERENCES accounts, snapshot TEXT, partner TEXT NOT NULL, "
    "agreement BLOB NOT NULL, key BLOB, drawing INTEGER REFERENCES drawings, event BLOB NOT NULL, "
    "paid INTEGER NOT NULL, at TEXT NOT NULL)",
    "CREATE INDEX runs_of_account ON runs (account)",
)

SERIES = (
    "CREATE TABLE series (series INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL REFERENCES "
    "accounts, folded TEXT NOT NULL, name TEXT NOT NULL, key BLOB NOT NULL, UNIQUE (account, folded))",
    # `content` is NULL once it was forgotten.
    "CREATE TABLE looks (series INTEGER NOT NULL REFERENCES series, look INTEGER NOT NULL, "
    "run TEXT NOT NULL UNIQUE, content BLOB, PRIMARY KEY (series, look))",
)
"""What version 3 has beside that."""
