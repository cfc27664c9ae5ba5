"""How large each room may be: growth is a decision that a diff of pyproject.toml shows.

Counted are code tokens. Comments, docstrings, imports and line breaks are none, so neither dense formatting
nor shorter comments change them. Of other files the lines count: templates, styles, recorded transcripts.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

HEAD = "[tool.accord.size]"
"""The table of limits, at the end of pyproject.toml."""
TOLERANCE = 50
"""A limit is lowered when it exceeds the size by one part in so many."""
_PACKAGE = "src/accord"
_OTHERS = ("tests", "reproduction", "benchmarks", "handbook", "release")
_DATA = {".css", ".html", ".j2", ".js", ".json", ".svg", ".toml", ".txt"}
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def tokens(source: str) -> int:
    """Code tokens of one module."""
    docstrings: set[tuple[int, int]] = set()
    imports: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            docstrings.add((node.lineno, node.col_offset))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        token.type not in _NO_CODE and token.start[0] not in imports and token.start not in docstrings
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
    )


def sizes(root: Path) -> dict[str, int]:
    """Tokens of each room and lines of data, of the checkout at `root`, in the order of the table."""
    package: Counter[str] = Counter()
    others: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for folder in (_PACKAGE, *_OTHERS):
        for path in (root / folder).rglob("*"):
            if path.suffix == ".py" and folder == _PACKAGE:
                parts = path.relative_to(root / folder).parts
                package[parts[0] if len(parts) > 1 else "accord"] += tokens(path.read_text("utf-8"))
            elif path.suffix == ".py":
                others[folder] += tokens(path.read_text("utf-8"))
            elif path.suffix in _DATA:
                lines[f"lines of {folder}"] += len(path.read_text("utf-8").splitlines())
    return {
        **dict(sorted(package.items())),
        _PACKAGE: package.total(),
        **others,
        **dict(sorted(lines.items())),
    }


def faults(sizes: dict[str, int], limits: dict[str, int]) -> list[str]:
    """What has to change before the limits describe the sizes; empty if nothing has."""
    messages = []
    for room in sizes | limits:
        size, limit = sizes.get(room), limits.get(room)
        if limit is None:
            messages.append(f"{room} has a size of {size} and no limit.")
        elif size is None:
            messages.append(f"{room} has a limit of {limit} and is not there.")
        elif size > limit:
            messages.append(f"{room} has a size of {size}, above its limit of {limit}.")
        elif limit - size > limit // TOLERANCE:
            messages.append(f"{room} has a size of {size}. Lower its limit of {limit}.")
    return messages


def with_limits(project: str, sizes: dict[str, int]) -> str:
    """The text of pyproject.toml with these sizes as the limits."""
    rows = "".join(f'"{room}" = {size}\n' for room, size in sizes.items())
    return f"{project[: project.index(HEAD)]}{HEAD}\n{rows}"
