"""Who may import whom, and other rules of the layout, checked by reading the source (see CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULE_LINES = 350
FUNCTION_LINES = 60

IMPURE_MODULES = (
    *("asyncio", "ctypes", "datetime", "glob", "http", "importlib", "io", "logging", "multiprocessing", "os"),
    *("pathlib", "pickle", "random", "secrets", "shutil", "socket", "sqlite3", "subprocess", "tempfile"),
    *("threading", "time", "urllib", "warnings"),
)
IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "breakpoint"})
IMPURE_NAMES = {
    "torch": frozenset({"load", "save", "hub", "manual_seed", "seed"}),
    "sys": frozenset({"stdin", "stdout", "stderr", "argv", "exit"}),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """Files (patterns; `*` also matches `/`) and what they may import.

    `only`: nothing but these and the standard library. `never`: none of these. `pure`: no input or
    output, no clock, no hidden randomness.
    """

    name: str
    files: tuple[str, ...]
    excepted: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    pure: bool = False

    def covers(self, path: str) -> bool:
        """Whether the rule is about this file."""
        return any(fnmatch(path, p) for p in self.files) and not any(fnmatch(path, p) for p in self.excepted)


RULES = (
    Rule(
        "what a recorded run is read and shown with imports the standard library only",
        files=(
            *("decoding/trace/*.py", "decoding/values.py", "decoding/codec.py", "decoding/consistency.py"),
            *("decoding/errors.py", "decoding/report.py", "decoding/beam/paths.py"),
            *(f"decoding/speculative/{name}.py" for name in ("consistency", "cost", "counts", "values")),
        ),
        only=(
            *("decoding.errors", "decoding.trace", "decoding.consistency", "decoding.values"),
            *(f"decoding.speculative.{name}" for name in ("consistency", "counts", "values")),
        ),
    ),
    Rule(
        "the maths imports torch only and is pure",
        files=(
            *("decoding/ranking.py", "decoding/processor_base.py"),
            *("decoding/processors.py", "decoding/processors/*.py", "decoding/samplers.py", "decoding/samplers/*.py"),
            *("decoding/beam/candidates.py", "decoding/beam/options.py", "decoding/beam/pruning.py"),
            *("decoding/beam/select.py", "decoding/beam/stochastic.py", "decoding/speculative/tree.py"),
        ),
        only=(
            *("torch", "decoding.errors", "decoding.trace", "decoding.ranking", "decoding.processor_base"),
            *("decoding.processors", "decoding.samplers", "decoding.beam.stochastic"),
            *("decoding.beam.candidates", "decoding.beam.options", "decoding.beam.paths", "decoding.beam.pruning"),
        ),
        pure=True,
    ),
    Rule(
        "the rules of verification know laws and trees, and are pure",
        files=("decoding/speculative/verification.py",),
        only=("torch", "decoding.observe", "decoding.speculative.tree"),
        pure=True,
    ),
    Rule(
        "the values of the experiments are standard library only",
        files=("decoding/experiments/values.py", "decoding/experiments/cost_values.py"),
        only=("decoding.trace",),
    ),
    Rule(
        "the experiments import torch and the samplers only",
        files=("decoding/experiments/*.py",),
        excepted=("decoding/experiments/record.py",),
        only=("torch", "decoding.errors", "decoding.experiments", "decoding.samplers", "decoding.trace"),
    ),
    Rule(
        "the experiments are pure, but for the clock",
        files=("decoding/experiments/*.py",),
        excepted=("decoding/experiments/cost.py", "decoding/experiments/record.py"),
        pure=True,
    ),
    Rule(
        "the decoding loops know a model by its protocol only",
        files=("decoding/sampling.py", "decoding/beam/*.py", "decoding/speculative/*.py", "decoding/eagle/*.py"),
        never=(
            *("transformers", "tokenizers", "gguf", "huggingface_hub"),
            *("decoding.models.huggingface", "decoding.models.bundled", "decoding.models.toy"),
        ),
    ),
    Rule(
        "only the two adapters and their cache import transformers",
        files=("app.py", "decoding/*.py", "visualizations/*.py"),
        excepted=tuple(f"decoding/models/{name}.py" for name in ("huggingface", "bundled", "growing")),
        never=("transformers",),
    ),
    Rule(
        "only the engine and its clock import ONNX Runtime",
        files=("app.py", "decoding/*.py", "visualizations/*.py"),
        excepted=("decoding/models/onnx*.py", "decoding/models/timing.py"),
        never=("onnx", "onnxruntime"),
    ),
    Rule(
        "the core knows nothing of what people see",
        files=("decoding/*.py",),
        never=("app", "gradio", "gradio_client", "pandas", "plotly", "visualizations"),
    ),
    Rule(
        "figures import the trace, numpy and plotly only",
        files=("visualizations/figures/*.py",),
        only=(
            *("decoding.trace", "decoding.values", "decoding.beam.paths"),
            *(f"decoding.speculative.{name}" for name in ("cost", "counts", "values")),
            *("decoding.experiments.values", "decoding.experiments.cost_values"),
            *("numpy", "plotly", "visualizations.figures", "visualizations.text"),
        ),
    ),
    Rule(
        "words import the standard library only",
        files=("visualizations/text/*.py",),
        only=("decoding.errors", "visualizations.text"),
    ),
    Rule(
        "gradio stays in the app, the pages and the components",
        files=("decoding/*.py", "visualizations/*.py"),
        excepted=("visualizations/pages/*.py", "visualizations/components/*.py"),
        never=("gradio",),
    ),
    Rule(
        "the product stands without its tests and tools",
        files=("app.py", "decoding/*.py", "visualizations/*.py"),
        never=("benchmarks", "hypothesis", "playwright", "pytest", "tests"),
    ),
)


# --- checkers: source in, list of faults out -------------------------------------------------------


def imports(path: str, source: str) -> Iterator[tuple[int, str, str]]:
    """Every import, also inside functions: line, module, and module + name where that may be a module."""
    package = path.split("/")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, base, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__") and node.args:
            name = getattr(node.args[0], "value", "")
            yield node.lineno, str(name), str(name)


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def within(name: str, modules: tuple[str, ...]) -> bool:
    """Whether `name` is one of the modules or lies in one."""
    return any(name == module or name.startswith(module + ".") for module in modules)


def import_faults(rule: Rule, path: str, source: str) -> list[str]:
    """Imports (and, for a pure module, calls) that break the rule."""
    faults = []
    never = rule.never + (IMPURE_MODULES if rule.pure else ())
    for line, base, full in imports(path, source):
        standard = base.split(".")[0] in sys.stdlib_module_names
        allowed = rule.only is None or standard or within(base, rule.only) or within(full, rule.only)
        if not allowed or within(base, never) or within(full, never):
            faults.append(f"{path}:{line} imports {full}")
    if rule.pure:
        faults += [f"{path}:{line} uses {name}" for line, name in impure_uses(source)]
    return faults


def impure_uses(source: str) -> Iterator[tuple[int, str]]:
    """Input, output and global randomness that need no import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in IMPURE_CALLS:
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_NAMES.get(getattr(node.value, "id", ""), ()):
            yield node.lineno, ast.unparse(node)


DECODING_MATHS = re.compile(
    r"\bMath\s*(?:\?\.|\.|\[)\s*[\"'`]?(?:exp|log|random)|\}\s*=\s*Math\b|\bsoftmax\s*\(|getRandomValues"
)


def script_faults(path: str, source: str) -> list[str]:
    """Exponentials, logarithms and random numbers in JavaScript: the maths stands once, in Python."""
    lines = enumerate(source.splitlines(), start=1)
    return [f"{path}:{number} computes: {line.strip()}" for number, line in lines if DECODING_MATHS.search(line)]


def length_faults(path: str, source: str) -> list[str]:
    """Modules and functions too long to read in one go. A table of words may be long."""
    faults = []
    lines = len(source.splitlines())
    if lines > MODULE_LINES and not path.startswith("visualizations/text/"):
        faults.append(f"{path} has {lines} lines; the limit is {MODULE_LINES}")
    for node in ast.walk(ast.parse(source)) if path.endswith(".py") else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                faults.append(f"{path}:{node.lineno} {node.name} has {length} lines; the limit is {FUNCTION_LINES}")
    return faults


HOME_PATH = re.compile(r"(?<![\w.~/-])/(?:root|home|Users)/")


def home_path_faults(path: str, source: str) -> list[str]:
    """Paths of one person's machine."""
    lines = enumerate(source.splitlines(), start=1)
    return [f"{path}:{number} names a home folder: {line.strip()}" for number, line in lines if HOME_PATH.search(line)]


# --- the tree --------------------------------------------------------------------------------------


def repository_files() -> list[str]:
    """Paths that git tracks or would track; without git, all that is neither hidden nor a cache."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        paths = {path for path in listing.split("\0") if path}
    except (OSError, subprocess.CalledProcessError):
        skipped = re.compile(r"(^|/)(\.(?!ci/|github/)|__pycache__/|build/|dist/)")
        paths = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*")}
        paths = {path for path in paths if not skipped.search(path)}
    return sorted(path for path in paths if (ROOT / path).is_file())


def read(path: str) -> str:
    """The text of a file; what is not text reads as empty."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


FILES = repository_files()
PRODUCT = [p for p in FILES if p == "app.py" or p.startswith(("decoding/", "visualizations/", "benchmarks/"))]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_imports_go_one_way(rule: Rule) -> None:
    covered = [path for path in FILES if rule.covers(path)]
    assert covered, "the rule's patterns match no file: were they renamed?"
    faults = [fault for path in covered for fault in import_faults(rule, path, read(path))]
    assert not faults, "\n".join([rule.name, *faults])


def test_package_fronts_import_nothing() -> None:
    packages = (
        *("decoding", "decoding/beam", "decoding/experiments", "decoding/speculative"),
        *("visualizations", "visualizations/figures"),
    )
    for path in (f"{package}/__init__.py" for package in packages):
        assert not list(imports(path, read(path))), f"{path} must be a docstring only"


def test_javascript_does_not_decode() -> None:
    scripts = [path for path in FILES if path.startswith("visualizations/") and path.endswith(".js")]
    inline = [path for path in PRODUCT if path.endswith(".py") and "visualizations/" in path]
    faults = [fault for path in scripts + inline for fault in script_faults(path, read(path))]
    assert not faults, "\n".join(faults)


def test_modules_and_functions_are_short() -> None:
    modules = [path for path in PRODUCT if path.endswith((".py", ".js"))]
    faults = [fault for path in modules for fault in length_faults(path, read(path))]
    assert not faults, "\n".join(faults)


def test_no_file_names_a_home_folder() -> None:
    faults = [fault for path in FILES for fault in home_path_faults(path, read(path))]
    assert not faults, "\n".join(faults)


def test_a_recorded_trace_renders_without_torch() -> None:
    figures = [path for path in FILES if fnmatch(path, "visualizations/figures/*.py")]
    modules = [path[:-3].replace("/", ".").removesuffix(".__init__") for path in figures]
    heavy = ("gradio", "pandas", "torch", "transformers")
    core = ["decoding.trace", "decoding.codec", "decoding.values", "decoding.report", "decoding.beam.paths"]
    core += [f"decoding.speculative.{name}" for name in ("cost", "counts", "values")]
    program = (
        f"import sys, {', '.join([*core, 'visualizations.text', *modules])}\n"
        f"print(*sorted(set({heavy}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "", f"loaded on the way: {run.stdout.strip()}"


# --- the checkers can fail -------------------------------------------------------------------------

BAD = [
    ("decoding/trace/law.py", "import torch"),
    ("decoding/codec.py", "def read():\n    import orjson"),
    ("decoding/errors.py", "from decoding.settings import Settings"),
    ("decoding/processors.py", "import numpy as np"),
    ("decoding/processors.py", "from pathlib import Path"),
    ("decoding/samplers.py", "import random"),
    ("decoding/samplers.py", "def draw(u):\n    print(u)"),
    ("decoding/samplers.py", "import torch\ntorch.manual_seed(0)"),
    ("decoding/samplers.py", "import sys\nsys.stdout.write('x')"),
    ("decoding/experiments/values.py", "import torch"),
    ("decoding/experiments/laws.py", "from decoding import observe"),
    ("decoding/experiments/tally.py", "import time"),
    ("visualizations/figures/cost.py", "from decoding.experiments import cost"),
    ("decoding/consistency.py", "from decoding import codec"),
    ("decoding/values.py", "import torch"),
    ("decoding/report.py", "from decoding import api"),
    ("decoding/beam/paths.py", "from decoding.beam.candidates import Candidates"),
    ("decoding/beam/pruning.py", "with open('x') as f:\n    pass"),
    ("decoding/beam/select.py", "from decoding.beam.search import beam"),
    ("decoding/beam/options.py", "from decoding import observe"),
    ("decoding/speculative/verification.py", "from .loop import run"),
    ("decoding/speculative/verification.py", "from decoding.sampling import Uniforms"),
    ("decoding/speculative/verification.py", "import random"),
    ("decoding/speculative/counts.py", "from decoding.speculative.tree import TokenTree"),
    ("decoding/speculative/tree.py", "from decoding import observe"),
    ("decoding/sampling.py", "from decoding.models import huggingface"),
    ("decoding/beam/search.py", "from transformers import DynamicCache"),
    ("decoding/eagle/train.py", "def train():\n    from transformers.cache_utils import DynamicCache"),
    ("decoding/speculative/loop.py", "import importlib\nimportlib.import_module('transformers')"),
    ("decoding/api.py", "import transformers"),
    ("decoding/models/toy.py", "if TYPE_CHECKING:\n    import transformers"),
    ("visualizations/pages/sampling.py", "import transformers"),
    ("decoding/models/engines.py", "def load():\n    import onnxruntime"),
    ("visualizations/models.py", "from onnx import helper"),
    ("decoding/__main__.py", "from visualizations.figures import bars"),
    ("decoding/observe.py", "import plotly.graph_objects as go"),
    ("visualizations/figures/bars.py", "import torch"),
    ("visualizations/figures/bars.py", "import pandas"),
    ("visualizations/figures/bars.py", "from decoding.settings import TopK"),
    ("visualizations/figures/bars.py", "import gradio"),
    ("visualizations/text/__init__.py", "import numpy"),
    ("visualizations/lessons/__init__.py", "import gradio as gr"),
    ("decoding/api.py", "from tests import helpers"),
]
GOOD = [
    ("decoding/codec.py", "import json\nfrom decoding import trace\nfrom . import errors"),
    ("decoding/beam/pruning.py", "import torch\nfrom decoding.beam.candidates import Candidates"),
    ("decoding/speculative/verification.py", "from decoding import observe\nfrom decoding.observe import Law"),
    ("visualizations/figures/beam_tree.py", "from decoding.beam.paths import path"),
    (
        "decoding/processors.py",
        "import sys\nHUGE = sys.maxsize\nfrom torch import Tensor\nfrom decoding.errors import UserError",
    ),
    (
        "decoding/sampling.py",
        "from decoding.models.protocol import KVCache\nfrom decoding.processors import TopK",
    ),
    ("decoding/models/huggingface.py", "import transformers"),
    ("decoding/models/onnx_file.py", "import onnx"),
    ("decoding/models/engines.py", "from decoding.models import onnx"),
    ("decoding/experiments/cost.py", "import time\nfrom decoding import samplers"),
    ("visualizations/figures/cost.py", "from decoding.experiments.cost_values import CostTable"),
    ("visualizations/figures/bars.py", "import numpy as np\nfrom decoding.trace import Stage\nfrom .style import View"),
    ("visualizations/pages/sampling.py", "import gradio as gr\nfrom decoding import api"),
    ("app.py", "import gradio as gr"),
    ("tests/test_processors.py", "import transformers"),
]


def faults_of(path: str, source: str) -> list[str]:
    return [fault for rule in RULES if rule.covers(path) for fault in import_faults(rule, path, source)]


@pytest.mark.parametrize(("path", "source"), BAD)
def test_a_bad_import_is_found(path: str, source: str) -> None:
    assert faults_of(path, source)


@pytest.mark.parametrize(("path", "source"), GOOD)
def test_a_good_import_is_let_through(path: str, source: str) -> None:
    assert not faults_of(path, source)


@pytest.mark.parametrize("line", ["const p = Math.exp(x)", "Math['log2'](p)", "const {exp} = Math", "Math.random()"])
def test_maths_in_javascript_is_found(line: str) -> None:
    assert script_faults("a.js", line)


@pytest.mark.parametrize("line", ["Math.max(0, x)", "const {data} = props", "// the log of a run"])
def test_drawing_in_javascript_is_let_through(line: str) -> None:
    assert not script_faults("a.js", line)


def test_a_long_module_and_a_long_function_are_found() -> None:
    long_function = "def f():\n" + "    pass\n" * FUNCTION_LINES
    assert length_faults("a.py", long_function)
    assert not length_faults("a.py", long_function.removesuffix("    pass\n"))
    assert length_faults("a.py", "x = 1\n" * MODULE_LINES) == []
    assert length_faults("a.py", "x = 1\n" * (MODULE_LINES + 1))


def test_a_home_folder_is_found() -> None:
    assert home_path_faults("a.md", "see /" + "root/notes")
    assert home_path_faults("a.py", 'path = "/' + 'home/me/model"')
    assert not home_path_faults("a.md", "https://example.org/home/page and :root { }")
