"""How much the tests notice: small faults put into the code, and for each one the test that finds it.

A *mutant* is one changed operator, constant, condition or dropped call in a function of one of `MODULES`. It
is run against the tests that execute its line, the module's own tests first and quick ones before slow ones,
until one fails. `tests/power.csv` has the list: the test that found a mutant first, when the list began, and
the one that finds it now. `make power` writes it anew, with the same mutants unless their module changed:

    python -m tests.power cover    which test executes which line; in `build/power/`
    python -m tests.power run      every mutant, in two processes

Mutants are put into a process that has collected all tests, in a fork of it: the code objects of the module's
functions are replaced. So processes that a test starts anew run the true code, and compiled kernels do, too.
"""

from __future__ import annotations

import ast
import csv
import functools
import gc
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "accord"
WORK = ROOT / "build" / "power"
LIST = ROOT / "tests" / "power.csv"
MODULES = (
    "secure/forms.py",
    "secure/transfer/extension.py",
    "protocols/greedy.py",
    "protocols/routed.py",
    "privacy/accounting.py",
    "rules/implied.py",
    "fields/making.py",
    "table/layout.py",
    "agreement/file_meaning.py",
    "state/ledger.py",
    "peer/channel.py",
    "run/stages.py",
    "planning/choose.py",
    "drafting/guessing.py",
    "cli/init_table.py",
)
EACH, SEED = 20, 67
SECONDS = 12
"""Processor seconds for the tests of one mutant: no test begins after them."""
CHECKED = 100
"""So many tests are run without a mutant first."""
HANGS = 60
"""Seconds after which a test counts as failed."""
PARTS = 2
_SURVIVED = "survived"

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Pow: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: the n-th place of a module's functions at which something can be changed."""

    module: str
    place: int
    line: int
    change: str


def _change(node: ast.AST) -> tuple[str, Callable[[], None]] | None:
    """What a fault at this node is, and how it is brought about; None if nothing is changed there."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        other = _COMPARED[type(node.ops[0])]
        return f"{type(node.ops[0]).__name__} → {other.__name__}", lambda: node.ops.__setitem__(0, other())
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        operator = _COMPUTED[type(node.op)]
        return f"{type(node.op).__name__} → {operator.__name__}", lambda: setattr(node, "op", operator())
    if isinstance(node, ast.BoolOp):
        joined = ast.Or if isinstance(node.op, ast.And) else ast.And
        return f"{type(node.op).__name__} → {joined.__name__}", lambda: setattr(node, "op", joined())
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        test = node.test
        return "condition negated", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
    if isinstance(node, ast.Constant) and isinstance(number := node.value, int):
        value = not number if isinstance(number, bool) else number + 1
        return f"{number} → {value}", lambda: setattr(node, "value", value)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "call dropped", lambda: setattr(node, "value", ast.Constant(None))
    return None


def _bodies(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of all functions that Python runs, without annotations, in order."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not any("kernel" in ast.unparse(one) for one in node.decorator_list):
                for statement in node.body:
                    yield from _inside(statement)
        elif isinstance(node, ast.ClassDef | ast.If):
            yield from _bodies(node)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    skipped = (getattr(node, "annotation", None), getattr(node, "returns", None))
    for child in ast.iter_child_nodes(node):
        if child not in skipped and not isinstance(child, ast.arguments):
            yield from _inside(child)


def mutants(module: str) -> list[Mutant]:
    """Every fault that can be put into a module."""
    tree = ast.parse((SOURCE / module).read_text("utf-8"))
    return [
        Mutant(module, place, getattr(node, "lineno", 0), found[0])
        for place, node in enumerate(_bodies(tree))
        if (found := _change(node))
    ]


def mutated(mutant: Mutant) -> CodeType:
    """The module with the fault."""
    path = SOURCE / mutant.module
    tree = ast.parse(path.read_text("utf-8"))
    found = _change(list(_bodies(tree))[mutant.place])
    assert found
    found[1]()
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


Functions = dict[tuple[str, str, int], list[FunctionType]]
"""The functions of this process by module, name and first line."""


def functions() -> Functions:
    """All that stand in one of the modules, methods and decorated ones included."""
    paths = {str(SOURCE / module): module for module in MODULES}
    for module in MODULES:
        import_module("accord." + module.removesuffix(".py").replace("/", "."))
    found: Functions = {}
    gc.unfreeze()
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in paths:
            code = one.__code__
            found.setdefault((paths[code.co_filename], code.co_qualname, code.co_firstlineno), []).append(one)
    gc.freeze()
    return found


def put_in(mutant: Mutant, functions: Functions) -> bool:
    """Replace the code of the module's functions in this process; whether any could be replaced."""
    replaced = False
    for code in _codes(mutated(mutant)):
        for function in functions.get((mutant.module, code.co_qualname, code.co_firstlineno), ()):
            with suppress(ValueError):  # Its free variables are others now.
                function.__code__ = code
                replaced = True
    return replaced


def listed() -> dict[tuple[str, ...], str]:
    """What found each mutant of the list first, by module, place and change."""
    with LIST.open(newline="") as file:
        return {(row["module"], row["place"], row["change"]): row["first"] for row in csv.DictReader(file)}


def chosen(lines: dict[str, dict[str, list[str]]]) -> list[Mutant]:
    """Those of the list; of a module that has others by now a sample of the faults at lines of tests."""
    found: list[Mutant] = []
    for module in MODULES:
        known = {key[1:] for key in listed() if key[0] == module}
        kept = [one for one in mutants(module) if (str(one.place), one.change) in known]
        if not known or len(kept) < len(known):
            every = [one for one in mutants(module) if lines[module].get(str(one.line))]
            dice = random.Random(f"{SEED} {module}")
            kept = sorted(dice.sample(every, min(EACH, len(every))), key=lambda one: one.place)
        found += kept
    return found


class _Found(Exception):
    """A test failed."""


class Runner:
    """Runs every mutant of a part in a fork of this process, once the tests are collected."""

    def __init__(self, part: int) -> None:
        self._part = part
        self._lines = json.loads((WORK / "lines.json").read_text())
        self._seconds = json.loads((WORK / "seconds.json").read_text())

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        from tests.kernels import load_all

        load_all()
        items = {item.nodeid: item for item in session.items}
        self._functions = functions()
        checked: set[str] = set()
        with (WORK / f"part-{self._part}.csv").open("w", newline="") as file:
            write = csv.writer(file, lineterminator="\n").writerow
            for mutant in chosen(self._lines)[self._part :: PARTS]:
                names = [
                    name for name in self._lines[mutant.module].get(str(mutant.line), ()) if name in items
                ]
                names.sort(key=functools.partial(self._rank, mutant.module))
                if mutant.module not in checked:
                    checked.add(mutant.module)
                    failed = self._attempt(None, [items[name] for name in names[:CHECKED]])
                    assert not failed, f"without a mutant fails {failed}"
                killer = self._attempt(mutant, [items[name] for name in names])
                write([mutant.module, mutant.place, mutant.line, mutant.change, killer])
                file.flush()
        return True

    def _rank(self, module: str, name: str) -> tuple[bool, float]:
        own = f"/test_{Path(module).stem}.py" in name
        return not own, self._seconds.get(name, 0.0)

    def _attempt(self, mutant: Mutant | None, items: list[pytest.Item]) -> str:
        """The first test that fails; 'time' if they never end, 'crash' if the process dies, else nothing.
        Without a mutant none may fail."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            killer = "crash"
            with suppress(BaseException):
                if mutant is None or put_in(mutant, self._functions):
                    killer = _first_failure(items)
                else:
                    killer = _SURVIVED
            os.write(writing, (killer or _SURVIVED).encode())
            os._exit(0)
        os.close(writing)
        end = time.monotonic() + 10 * SECONDS
        while time.monotonic() < end and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.02)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as file:
            os.set_blocking(file.fileno(), False)
            told = file.read()
        if not told:
            return "time" if time.monotonic() >= end else "crash"
        return told.decode().removeprefix(_SURVIVED)


def _first_failure(items: list[pytest.Item]) -> str:
    """Run them in this order; the name of the first that fails."""
    # Not at the top: pytest rewrites its plug-ins when it imports them.
    from tests.processor import spent

    class Watch:
        @staticmethod
        def pytest_runtest_logreport(report: pytest.TestReport) -> None:
            if report.failed:
                raise _Found(report.nodeid)

    def hangs(*_: object) -> None:
        raise TimeoutError

    if items:
        items[0].config.pluginmanager.register(Watch())
    signal.signal(signal.SIGALRM, hangs)
    try:
        for item, following in zip(items, [*items[1:], None], strict=True):
            if spent() > SECONDS:
                break
            signal.alarm(HANGS)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    except _Found as found:
        return str(found)
    finally:
        signal.alarm(0)
    return ""


def run(part: int) -> None:
    """One part of the mutants."""
    os.environ["OMP_NUM_THREADS"] = "1"
    chosen_tests = ["-m", "not slow and not whole", "tests"]
    quiet = ["-o", "addopts="]
    # What is collected as garbage while a test runs is not that test's failure.
    for plugin in ("terminal", "cacheprovider", "unraisableexception", "threadexception"):
        quiet += ["-p", f"no:{plugin}"]
    sys.exit(pytest.main([*quiet, *chosen_tests], [Runner(part)]))


class Cover:
    """In every process of tests: which test executes which line, by `coverage`."""

    def __init__(self) -> None:
        import coverage

        self._coverage = coverage.Coverage(
            data_file=WORK / f"cover.{os.getpid()}",
            include=[str(SOURCE / module) for module in MODULES],
            config_file=False,
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        began = time.process_time()
        result = yield
        with (WORK / f"seconds.{os.getpid()}").open("a") as file:
            file.write(json.dumps([item.nodeid, time.process_time() - began]) + "\n")
        return result

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    """As a plug-in of pytest (`-p tests.power`): in the processes that run tests."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Cover())


def cover() -> None:
    """Run all fast tests and keep which of them execute which line."""
    WORK.mkdir(parents=True, exist_ok=True)
    for path in WORK.iterdir():
        path.unlink()
    workers = str(os.cpu_count() or 1)
    subprocess.run([sys.executable, "-m", "pytest", "-p", "tests.power", "-n", workers], cwd=ROOT, check=True)
    summarize(WORK.glob("cover.*"))


def summarize(files: Iterator[Path]) -> None:
    """What the processes of tests kept, as two tables."""
    from coverage import CoverageData

    lines: dict[str, defaultdict[str, list[str]]] = {module: defaultdict(list) for module in MODULES}
    for path in files:
        data = CoverageData(path)
        data.read()
        for module in MODULES:
            for line, contexts in data.contexts_by_lineno(str(SOURCE / module)).items():
                lines[module][str(line)] += [name for name in contexts if name]
    (WORK / "lines.json").write_text(json.dumps(lines))
    rows = [json.loads(row) for path in WORK.glob("seconds.*[0-9]") for row in path.read_text().splitlines()]
    (WORK / "seconds.json").write_text(json.dumps(dict(rows)))


def main() -> None:
    """`cover`, then `run`."""
    if sys.argv[1:] == ["cover"]:
        cover()
        return
    parts = [multiprocessing.get_context("spawn").Process(target=run, args=(n,)) for n in range(PARTS)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    rows = [
        row for n in range(PARTS) for row in csv.reader((WORK / f"part-{n}.csv").read_text().splitlines())
    ]
    before = listed()
    with LIST.open("w", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(["module", "place", "line", "change", "first", "now"])
        for row in sorted(rows, key=lambda row: (row[0], int(row[1]))):
            *mutant, killer = row
            write([*mutant, before.get((row[0], row[1], row[3]), killer), killer])
    lost = sum(bool(before.get((row[0], row[1], row[3]))) and not row[4] for row in rows)
    print(f"{sum(bool(row[4]) for row in rows)} of {len(rows)} mutants are found, {lost} no more")  # noqa: T201


if __name__ == "__main__":
    main()
