"""Wrong use of the command line: one clear line on standard error, exit code 2, nothing on standard output."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from kernelwright import cli
from kernelwright.settings import Settings, load_settings
from services.domain.errors import ConfigurationError
from tests.doubles import a_problem


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "relu.py"
    path.write_text(a_problem().source)
    return path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path / "home"))


def line_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.execute(list(arguments)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("kernelwright: ")
    assert printed.err.count("\n") == 1
    return printed.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--backend", "fortran"), "unknown backend 'fortran'; known: cpp"),
        (("--device", "h200"), "unknown device 'h200'; known: cpu"),
        (("--model", "gpt"), "unknown model 'gpt'; known: playbook"),
        (("--model", "compatible:gpt"), "KERNELWRIGHT_COMPATIBLE_BASE_URL"),
        (("--strategy", "luck"), "unknown strategy 'luck'; known: greedy, islands, map_elites"),
        (("--baselines", "naive"), "unknown baseline 'naive'"),
        (("--seed-candidate", "nowhere.py"), "nowhere.py"),
        (("--guidance", "@nowhere.md"), "nowhere.md: the guidance cannot be read"),
        (("--guidance", "w" * 4001), "the guidance must be valid text of at most 4000 characters (it has 4001)"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str], problem: Path, options: tuple[str, str], words: str
) -> None:
    assert words in line_of(capsys, "run", str(problem), *options)


def test_a_problem_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere.py: the problem cannot be read" in line_of(capsys, "run", "nowhere.py")


def test_a_problem_with_a_fault_is_refused_with_file_line_and_remedy(
    capsys: pytest.CaptureFixture[str], problem: Path
) -> None:
    problem.write_text(problem.read_text().replace("return []", "return ["))
    line = line_of(capsys, "run", str(problem))
    assert f"{problem}:14: syntax error" in line
    assert "(column 12: `return [`)" in line
    assert "Fix the syntax" in line


@pytest.mark.parametrize("command", [("evaluate",), ("run", "--seed-candidate")])
def test_a_candidate_with_a_fault_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], problem: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    candidate = tmp_path / "answer.md"
    candidate.write_text("Here it is:\n\n```python\nclass ModelNew(:\n```\n")
    line = line_of(capsys, command[0], str(problem), *command[1:], str(candidate))
    assert "the fenced block at line 3 of it cannot be judged: line 1: syntax error" in line


def test_a_problem_whose_backward_is_not_written_out_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], problem: Path
) -> None:
    problem.write_text("BACKWARD = 1 == 1\n" + problem.read_text())
    for arguments in (("run", str(problem)), ("evaluate", str(problem), str(problem))):
        line = line_of(capsys, *arguments)
        assert f"{problem}:1: BACKWARD is not True or False" in line
        assert "Write BACKWARD = True" in line


def test_a_binary_problem_is_refused(capsys: pytest.CaptureFixture[str], problem: Path) -> None:
    problem.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in line_of(capsys, "run", str(problem))


def test_a_fault_of_the_machine_points_at_the_doctor_unless_it_says_what_to_do(
    capsys: pytest.CaptureFixture[str], problem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_of(capsys, "jobs", "--server", "http://127.0.0.1:9")
    assert "start one with `kernelwright serve`" in line
    assert "kernelwright doctor" not in line
    monkeypatch.setenv("KERNELWRIGHT_DATABASE_URL", "sqlite:////proc/nowhere/kernelwright.db")
    assert "(`kernelwright doctor` shows what is missing)" in line_of(capsys, "run", str(problem))


def test_run_wants_a_problem_or_a_job(capsys: pytest.CaptureFixture[str], problem: Path) -> None:
    assert "--resume" in line_of(capsys, "run")
    assert "--resume" in line_of(capsys, "run", str(problem), "--resume", "job-1")


def test_resuming_an_unknown_job_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "job-unknown" in line_of(capsys, "run", "--resume", "job-unknown")


def test_evaluate_refuses_unknown_names_before_it_starts_anything(
    capsys: pytest.CaptureFixture[str], problem: Path
) -> None:
    assert "unknown backend" in line_of(capsys, "evaluate", str(problem), str(problem), "--backend", "ada")


def test_a_busy_port_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        assert f"cannot listen on 127.0.0.1:{port}" in line_of(capsys, "api", "--port", port)


def test_the_api_is_not_opened_to_the_network_without_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    assert "KERNELWRIGHT_TOKEN" in line_of(capsys, "api", "--host", "0.0.0.0", "--port", "0")


def test_a_client_without_a_server_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "kernelwright serve" in line_of(capsys, "jobs", "--server", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--server", "127.0.0.1:18301"), "--server needs a URL with a scheme, e.g. http://127.0.0.1:18301"),
        (("--server", "ftp://host"), "e.g. http://host"),
    ],
)
def test_a_wrong_option_of_a_client_says_what_it_takes(
    capsys: pytest.CaptureFixture[str], options: tuple[str, str], words: str
) -> None:
    assert words in line_of(capsys, "jobs", *options)


def test_a_worker_of_its_own_needs_the_broker(capsys: pytest.CaptureFixture[str]) -> None:
    assert "KERNELWRIGHT_QUEUE=celery" in line_of(capsys, "worker")


def test_a_setting_of_the_wrong_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_PORT", "eighty")
    with pytest.raises(ConfigurationError, match="KERNELWRIGHT_PORT='eighty'"):
        load_settings()


def test_the_database_lies_in_the_home_folder_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings()
    assert settings.database == f"sqlite:///{settings.directory}/kernelwright.db"
    assert Settings(database_url="postgresql+psycopg://host/name").database == "postgresql+psycopg://host/name"


def test_no_setting_of_the_developers_machine_reaches_a_test() -> None:
    settings = load_settings()
    assert settings.openai_api_key is None
    assert settings.anthropic_api_key is None
    assert settings.queue == "in-process"


def test_a_team_a_member_and_a_token_are_made_listed_and_ended(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        assert cli.execute(list(arguments)) == 0
        return capsys.readouterr().out

    said("team", "create", "red")
    said("user", "add", "Ada@x", "--team", "red", "--role", "admin")
    text = said("token", "create", "ci", "--team", "red", "--user", "ada@x", "--scopes", "read").strip()
    (known,) = json.loads(said("token", "list", "--team", "red", "--json"))
    assert text.startswith(f"kw_{known['id']}_")
    assert text not in str(known)
    said("token", "revoke", known["id"], "--team", "red")
    assert "revoked" in said("token", "list", "--team", "red")
    said("user", "add", "bob@x", "--team", "red", "--role", "admin")
    said("user", "role", "ada@x", "viewer", "--team", "red")
    said("user", "remove", "ada@x", "--team", "red")
    assert "ada@x" not in said("user", "list", "--team", "red")
    done = [entry["action"] for entry in json.loads(said("audit", "--team", "red", "--json"))]
    assert done[:4] == ["remove_member", "set_role", "add_member", "revoke_token"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("team", "create", "No Name"), "a team's name is 1 to 63 of a-z, 0-9 and -"),
        (("token", "create", "x", "--team", "green"), "no team green: kernelwright team create green"),
        (("token", "create", "x", "--scopes", "all"), "unknown scope 'all'; known: read, write, admin"),
        (("token", "create", "x", "--days", "5", "--for-ever"), "use either --days or --for-ever"),
        (("token", "revoke", "0123456789"), "no token 0123456789"),
        (("user", "role", "nobody@x", "admin"), "team local has no member nobody@x"),
    ],
)
def test_wrong_requests_about_access_say_what_to_change(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert words in line_of(capsys, *arguments)


def test_other_machines_are_let_in_only_with_a_token_or_a_sign_in() -> None:
    with pytest.raises(ConfigurationError, match=r"refusing to listen on 0\.0\.0\.0.*KERNELWRIGHT_SIGN_IN=required"):
        Settings().check_bind("0.0.0.0")
    for settings in (Settings(token="t"), Settings(sign_in="required")):
        settings.check_bind("0.0.0.0")
        assert not settings.is_open("127.0.0.1")
    assert Settings().is_open("127.0.0.1")
    assert not Settings().is_open("0.0.0.0")
