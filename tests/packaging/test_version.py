"""Versions come from tags and addresses from the clone, also where the sources lie without their history."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import groupscope
from hatch_build import NAMED_HOME, project_urls

ROOT = Path(__file__).resolve().parents[2]
PRETENDED = "SETUPTOOLS_SCM_PRETEND_VERSION"
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", re.MULTILINE)
BUILT_FROM = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "docs/groupscope.1", "groupscope/__init__.py")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The files that a build cannot do without, in no repository."""
    folder = tmp_path / "sources"
    for name in BUILT_FROM:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run git in the folder, with no settings but these."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def hatchling(folder: Path, *arguments: str, **added: str) -> str:
    """What hatchling prints in the folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SETUPTOOLS_SCM")} | added
    command = [sys.executable, "-m", "hatchling", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path) -> None:
    """Commit everything, and a file that is new each time."""
    (folder / "counted").write_text(f"{len(os.listdir(folder))} {os.urandom(4).hex()}", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Change")


def test_a_tag_is_a_version_and_commits_after_it_lead_to_the_next(sources: Path) -> None:
    git(sources, "init", "-q")
    commit(sources)
    git(sources, "tag", "v7.8.9")
    released = hatchling(sources, "version")
    commit(sources)

    assert released == "7.8.9"
    assert re.fullmatch(r"7\.8\.10\.dev1\+g[0-9a-f]+", hatchling(sources, "version"))


def test_sources_without_history_have_the_version_that_their_builder_names(sources: Path) -> None:
    assert hatchling(sources, "version") == "0.0.0"
    assert hatchling(sources, "version", **{PRETENDED: "1.2.3"}) == "1.2.3"


def test_a_source_distribution_keeps_its_version(sources: Path, tmp_path: Path) -> None:
    git(sources, "init", "-q")
    commit(sources)
    git(sources, "tag", "v7.8.9")
    hatchling(sources, "build", "--target", "sdist", "--directory", str(tmp_path))
    with tarfile.open(tmp_path / "groupscope-7.8.9.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")

    assert hatchling(tmp_path / "groupscope-7.8.9", "version") == "7.8.9"


HOMES = {
    "a clone": ("https://git.example.com/team/groupscope.git\n", "https://git.example.com/team/groupscope"),
    "a clone by ssh": ("git@git.example.com:team/groupscope.git", "https://git.example.com/team/groupscope"),
    "credentials": ("https://me:secret@git.example.com/team/groupscope", "https://git.example.com/team/groupscope"),
    "a folder": ("/srv/git/groupscope.git", None),
    "a machine of one's own": ("ssh://build/groupscope", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("home", "address"), HOMES.values(), ids=HOMES)
def test_addresses_are_those_that_anybody_can_open(home: str, address: str | None) -> None:
    urls = project_urls(home)

    assert urls.get("Homepage") == address
    assert urls.get("Issues") == (f"{address}/issues" if address else None)


def test_builds_carry_the_addresses(sources: Path) -> None:
    metadata = json.loads(hatchling(sources, "metadata", **{NAMED_HOME: "https://git.example.com/team/groupscope"}))

    assert metadata["urls"]["Changelog"] == "https://git.example.com/team/groupscope/blob/main/CHANGELOG.md"
    assert all((ROOT / place.partition("main/")[2]).exists() for place in metadata["urls"].values() if "main/" in place)


@pytest.mark.parametrize("name", ["cli", "spark"])
def test_images_are_built_with_a_version(name: str) -> None:
    text = (ROOT / "docs" / "images" / f"{name}.Dockerfile").read_text(encoding="utf-8")

    assert f"ENV {PRETENDED}=$VERSION" in text
    assert text.index("ARG VERSION") < text.index(PRETENDED) < text.index("pip wheel")


def test_the_package_tells_its_version() -> None:
    from importlib.metadata import version

    assert groupscope.__version__ == version("groupscope")
    assert not (ROOT / "groupscope" / "__init__.py").read_text(encoding="utf-8").count('__version__ = "')


def test_releases_of_the_changelog_fall() -> None:
    """Newest first; a heading that is no release is that of what comes next."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = [tuple(map(int, name.split("."))) for name in RELEASE.findall(text)]

    assert releases == sorted(set(releases), reverse=True)
    assert len(releases) + 1 == len(re.findall(r"^## \[", text, re.MULTILINE))
    assert text.index("## [Unreleased]") < text.index(f"## [{'.'.join(map(str, releases[0]))}]")
