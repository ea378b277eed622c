"""The layers, read from the imports: errors ← core ← edges ← app, watch ← commands ← cli."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "lastsignal"
MODULES = sorted(PACKAGE.rglob("*.py"))

MAX_MODULE_LINES = 350
MAX_FUNCTION_LINES = 60

# What a layer may import of ours, by its first part.
ALLOWED = {
    "errors": set(),
    "core": {"errors", "core"},
    "edges": {"errors", "core", "edges"},
    "app": {"errors", "core", "edges"},
    "watch": {"errors", "core", "edges", "watch"},
    "commands": {"errors", "core", "edges", "app", "watch", "commands"},
    "cli": {"errors", "commands"},
    "__main__": {"cli"},
    "__init__": set(),
}

# What the pure core must never touch: files, sockets, clocks, logs, async, chance.
IMPURE = {
    "anyio", "apprise", "asyncio", "click", "io", "logging", "multiprocessing", "os", "pathlib",
    "prometheus_client", "random", "rich", "shutil", "socket", "sqlite3", "ssl", "starlette",
    "structlog", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uvicorn",
    "watchfiles",
}  # fmt: skip


def module_name(path: Path) -> str:
    """Return the dotted name within the package: `core.windows.base`."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it points"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path: Path, known: set[str]) -> set[str]:
    """Return the modules of ours that a file imports."""
    names = (
        name.removeprefix("lastsignal.") for name in imports(path) if name.startswith("lastsignal.")
    )
    return {name for name in names if name in known}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_layers_below_its_own(path: Path) -> None:
    known = {module_name(module) for module in MODULES}
    name = module_name(path)
    layer = name.split(".")[0]

    for imported in own_imports(path, known):
        assert imported.split(".")[0] in ALLOWED[layer], f"{name} must not import {imported}"
        if layer == "edges" and imported.startswith("edges.") and "." in imported:
            mine, other = name.split(".")[1:2], imported.split(".")[1:2]
            assert mine == other, f"{name} must not import its neighbour {imported}"


@pytest.mark.parametrize(
    "path", [m for m in MODULES if module_name(m).startswith("core")], ids=module_name
)
def test_the_core_touches_nothing_of_the_world(path: Path) -> None:
    touched = {name.split(".")[0] for name in imports(path)} & IMPURE

    assert not touched
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input"}


def test_imports_never_run_in_a_circle() -> None:
    known = {module_name(module) for module in MODULES}
    graph = {module_name(path): own_imports(path, known) for path in MODULES}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join((*way[way.index(name) :], name))
        if name in done:
            return
        for imported in sorted(graph[name] - {name}):
            # `from package import module` names the package too: that is no circle by itself
            if not name.startswith(f"{imported}."):
                visit(imported, (*way, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_modules_and_functions_stay_small(path: Path) -> None:
    source = path.read_text(encoding="utf-8")

    assert source.count("\n") <= MAX_MODULE_LINES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            start = (
                body[1].lineno
                if isinstance(body[0], ast.Expr) and len(body) > 1
                else body[0].lineno
            )
            assert (node.end_lineno or start) - start <= MAX_FUNCTION_LINES, f"{path}: {node.name}"


def test_no_module_is_a_grab_bag() -> None:
    names = {path.stem for path in MODULES}

    assert not names & {"utils", "util", "helpers", "helper", "common", "misc"}


def test_packages_of_the_core_never_run_in_a_circle() -> None:
    known = {module_name(module) for module in MODULES}
    needs: dict[str, set[str]] = {}
    for path in MODULES:
        name = module_name(path)
        if name.startswith("core."):
            others = {one.split(".")[1] for one in own_imports(path, known) if "core." in one}
            needs.setdefault(name.split(".")[1], set()).update(others - {name.split(".")[1]})

    while leaves := {name for name, others in needs.items() if not others}:
        needs = {name: others - leaves for name, others in needs.items() if name not in leaves}
    assert not needs
