"""Settings by file, as Docker and Kubernetes hand secrets over."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.settings import load_settings
from services.domain.errors import ConfigurationError


def test_a_setting_may_lie_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("KERNELWRIGHT_TOKEN_FILE", str(tmp_path / "token"))
    assert load_settings().token == "from-a-file"


def test_a_providers_key_may_lie_in_a_file_under_either_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sk-from-a-file")
    for name in ("KERNELWRIGHT_OPENAI_API_KEY_FILE", "ANTHROPIC_API_KEY_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "key"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings()
    keys = [settings.openai_api_key, settings.anthropic_api_key]
    assert [key.get_secret_value() for key in keys if key] == ["sk-from-a-file"] * 2


def test_an_empty_file_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("")
    monkeypatch.setenv("KERNELWRIGHT_TOKEN_FILE", str(tmp_path / "token"))
    assert load_settings().token is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_DATABASE_URL_FILE", str(tmp_path / "nothing"))
    with pytest.raises(ConfigurationError, match="KERNELWRIGHT_DATABASE_URL_FILE"):
        load_settings()


def test_a_value_and_a_file_contradict_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("one")
    monkeypatch.setenv("KERNELWRIGHT_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("KERNELWRIGHT_TOKEN", "two")
    with pytest.raises(ConfigurationError, match="both"):
        load_settings()
