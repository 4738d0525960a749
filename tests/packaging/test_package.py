"""The wheel holds the product and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("groupscope", "parsers", "models", "pipelines", "dashboards", "conf")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def test_only_the_packages_are_in_it(wheel: list[str]) -> None:
    assert {name.split("/")[0] for name in wheel if ".dist-info/" not in name} == set(PACKAGES)


def test_every_file_of_the_packages_is_in_it(wheel: list[str]) -> None:
    files = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}

    assert {name for name in files if "__pycache__" not in name} - set(wheel) == set()


def test_the_licence_and_the_command_come_along(wheel: list[str]) -> None:
    in_metadata = {name.split(".dist-info/")[1] for name in wheel if ".dist-info/" in name}

    assert {"entry_points.txt", "licenses/LICENSE"} <= in_metadata
