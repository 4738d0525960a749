"""Settings: what wins over what, and what an error says."""

import dataclasses
from pathlib import Path

import pytest

from conf.settings import SettingsError, load_settings
from models.incidents.incidents import Limits


def test_defaults_are_complete() -> None:
    settings = load_settings(environment={})
    assert settings.display.time_zone == "UTC"
    assert settings.incidents.critical_stopped_seconds == 300.0


def test_the_limits_of_incidents_are_those_of_the_model() -> None:
    assert Limits(**dataclasses.asdict(load_settings(environment={}).incidents)) == Limits()


def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[display]\ntime_zone = "Europe/Berlin"\nevidence_lines = 3\n[input]\nclusters = ["a=b"]\n', encoding="utf-8")
    settings = load_settings(environment={"GROUPSCOPE_SETTINGS": str(file), "GROUPSCOPE_DISPLAY_EVIDENCE_LINES": "5"})
    assert settings.display.time_zone == "Europe/Berlin"
    assert settings.display.evidence_lines == 5
    assert settings.input.clusters == ("a=b",)


def test_a_list_in_the_environment_is_split_at_commas() -> None:
    settings = load_settings(environment={"GROUPSCOPE_INPUT_LOG_TIME_ZONES": "UTC, clients/*=Europe/Berlin"})
    assert settings.input.log_time_zones == ("UTC", "clients/*=Europe/Berlin")


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("False", False)])
def test_a_switch_in_the_environment_is_a_word(text: str, expected: bool) -> None:
    assert load_settings(environment={"GROUPSCOPE_REPLAY_GROUP_STATES": text}).replay.group_states is expected


def test_variables_of_other_sections_are_left_alone() -> None:
    assert load_settings(environment={"GROUPSCOPE_OTHER_THING": "x", "PATH": "y"}) == load_settings(environment={})


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"GROUPSCOPE_DISPLAY_TIMEZONE": "UTC"}, "display.timezone is not a setting; did you mean time_zone?"),
        ({"GROUPSCOPE_DISPLAY_TIME_ZONE": "Mars/Olympus"}, "display.time_zone: 'Mars/Olympus' is not a time zone"),
        ({"GROUPSCOPE_DISPLAY_TIME_ZONE": "../../etc/passwd"}, "is not a time zone"),
        ({"GROUPSCOPE_REPLAY_GROUP_STATES": "perhaps"}, "replay.group_states: expected true or false, found 'perhaps'"),
        ({"GROUPSCOPE_INPUT_MAX_RECORD_BYTES": "many"}, "input.max_record_bytes: expected a whole number, found 'many'"),
        ({"GROUPSCOPE_INCIDENTS_CRITICAL_STOPPED_SECONDS": "-1"}, "incidents.critical_stopped_seconds: must not be negative"),
    ],
)
def test_an_error_of_the_environment_names_the_key(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings(environment=environment)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[displays]\n", "[displays] is not a section; did you mean display?"),
        ("display = 3\n", "display is a section"),
        ("[display]\nzone = 'UTC'\n", "display.zone is not a setting"),
        ("[display]\ntime_zone = 3\n", "display.time_zone: expected a text, found 3"),
        ("[input]\nclusters = 'a'\n", "input.clusters: expected a list of texts"),
        ("[input]\nmax_record_bytes = true\n", "input.max_record_bytes: expected a whole number, found True"),
        ("[display\n", "not valid TOML"),
    ],
)
def test_an_error_of_the_file_names_the_file_and_the_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load_settings(file, environment={})
    assert str(file) in str(error.value)
    assert said in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can't read the settings file"):
        load_settings(tmp_path / "absent.toml", environment={})


def test_the_users_own_file_counts_least(tmp_path: Path) -> None:
    own = tmp_path / "groupscope" / "settings.toml"
    own.parent.mkdir()
    own.write_text('[display]\ntime_zone = "Asia/Tokyo"\n', encoding="utf-8")
    named = tmp_path / "named.toml"
    named.write_text('[display]\ntime_zone = "Europe/Berlin"\n', encoding="utf-8")
    here = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load_settings(environment=here).display.time_zone == "Asia/Tokyo"
    assert load_settings(environment=here | {"GROUPSCOPE_SETTINGS": str(named)}).display.time_zone == "Europe/Berlin"
    assert load_settings(named, here).display.time_zone == "Europe/Berlin"
    assert load_settings(environment={"HOME": str(tmp_path)}).display.time_zone == "UTC"
