"""Keeps four prompts of a real job as pages under docs/prompts: `python examples/model_server/record_prompts.py`.

Runs RMSNorm for a draft and a refinement against `server.py` beside this file and takes what was recorded. Takes about
a minute; the figures in the prompts are this machine's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server import MODEL, Handler

from agents.prompts.token_budget import tokens

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "prompts"
PROBLEM = "examples/problems/rmsnorm.py"
SAMPLES = (
    ("plan", "planner", "refine", "The Planner's prompt in refine"),
    ("draft", "coder", "draft", "The Coder's prompt in draft"),
    ("refine", "coder", "refine", "The Coder's prompt in refine"),
    ("judge", "judge", "refine", "The Judge's prompt about an accepted candidate"),
)
"""(page, agent, stage, title)"""
_FENCE = "~~~~~~~~"


def main() -> int:
    """Write the pages; 1 where the job gave no prompt for one."""
    calls = list(_calls(_trajectory()))
    PAGES.mkdir(parents=True, exist_ok=True)
    for name, role, stage, title in SAMPLES:
        call = next((call for step, call in calls if step["stage"] == stage and _is(call, role)), None)
        if call is None:
            sys.stderr.write(f"the job has no call of the {role} in {stage}\n")
            return 1
        (PAGES / f"{name}.md").write_text(_page(title, call))
    return 0


def _is(call: dict[str, Any], role: str) -> bool:
    return call["role"] == role and "second opinion" not in call["prompt"][-1]["content"]


def _page(title: str, call: dict[str, Any]) -> str:
    texts = [message["content"].strip() for message in call["prompt"]]
    said = (
        f"About {sum(map(tokens, texts)):,} tokens at three bytes each ({_size(texts):,} bytes; the limit is 12,000)."
    )
    lines = [
        f"# {title}",
        "",
        f"From a job on `{PROBLEM}`, as it was sent; templates `{call['prompt_hash'][:16]}`. {said}",
        "Recorded by `python examples/model_server/record_prompts.py`; the figures in it are one machine's.",
    ]
    for message, text in zip(call["prompt"], texts, strict=True):
        lines += ["", f"**{message['role']}**", "", f"{_FENCE}text", text, _FENCE]
    return "\n".join(lines) + "\n"


def _size(texts: list[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _calls(lines: list[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for line in lines:
        step = json.loads(line)["step"]
        for call in step["calls"]:
            yield step, call


def _trajectory() -> list[str]:
    """The recorded steps of a job against the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    arguments = ["run", PROBLEM, "--model", f"compatible:{MODEL}", "--rounds", "3"]
    arguments += ["--no-compiler-draft", "--baselines", "eager", "--json"]
    with tempfile.TemporaryDirectory() as home:
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        environment = {**os.environ, "KERNELWRIGHT_HOME": home, "KERNELWRIGHT_COMPATIBLE_BASE_URL": address}
        command = [sys.executable, "-m", "kernelwright", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        lines = Path(json.loads(done.stdout)["trajectory_path"]).read_text().splitlines()
    server.shutdown()
    server.server_close()
    return lines


if __name__ == "__main__":
    sys.exit(main())
