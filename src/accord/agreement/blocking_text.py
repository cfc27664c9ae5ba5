"""The blocking of an agreement as text: a pass a table, a part a line."""

from __future__ import annotations

import tomli_w

from accord.agreement.document import Agreement
from accord.exact import text
from accord.rules.blocking.base import AnyPart, Passes
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeySpec


def write_blocking(agreement: Agreement) -> str:
    """Its passes, or its parts where it has one pass without a name."""
    if not isinstance(agreement.blocking, Passes):
        return "\n".join(f"[[blocking]]\n{_lines(part)}" for part in agreement.blocking)
    written = []
    for one in agreement.passes:
        parts = ",\n    ".join(f"{{ {_lines(part).strip().replace(chr(10), ', ')} }}" for part in one.parts)
        inside = parts if len(one.parts) == 1 else f"\n    {parts},\n"
        name = "" if one.name is None else f'name = "{one.name}"\n'
        cap = "" if one.cap is None else f"{tomli_w.dumps({'cap': one.model_dump()['cap']})}"
        written.append(f"[[blocking.pass]]\n{name}{cap}parts = [{inside}]\n")
    return "\n".join(written)


def _lines(part: AnyPart) -> str:
    """A part of a blocking, a line each."""
    match part:
        case KeySpec():
            names = [f'"{name}"' for name in part.names]
            field = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
            buckets = "" if part.buckets is None else f"buckets = {part.buckets}\n"
            return f'kind = "key"\nfield = {field}\n{buckets}'
        case GridSpec():
            fields = ", ".join(f'"{name}"' for name in part.fields)
            reach = "" if part.reach is None else f"reach = {text(part.reach)}\n"
            how = f'cell = {text(part.cell)}\nstyle = "{part.style}"\n{reach}'
            return f'kind = "grid"\nfields = [{fields}]\n{how}'
    return tomli_w.dumps(part.model_dump(mode="json", exclude_none=True))
