"""The commands as `accord --help` lists them: in the order in which a newcomer needs them, step by step."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

STEPS = {
    "Try it out": ("demo", "generate", "simulate"),
    "Agree": ("init", "check", "plan", "learn", "audit"),
    "Get ready, once": ("identity", "partner", "ledger"),
    "Link": ("link", "resume", "runs"),
    "Afterwards": ("report", "receipt", "forget", "state"),
}


class Stepwise(TyperGroup):
    """A group whose help has a section for each step."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in STEPS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, names in STEPS.items():
            limit = formatter.width - width - 6
            told = [(f"{name:<{width}}", self.commands[name].get_short_help_str(limit)) for name in names]
            with formatter.section(title):
                formatter.write_dl(told)
