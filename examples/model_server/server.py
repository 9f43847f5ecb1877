"""A chat model without a model: a server with the Chat Completions protocol that knows kernels for three examples.

python examples/model_server/server.py --port 8011
KERNELWRIGHT_COMPATIBLE_BASE_URL=http://127.0.0.1:8011/v1 \
  kernelwright run examples/problems/rmsnorm.py --model compatible:by-hand --rounds 3

It tells from the reply's schema which agent asks, and from the prompt which problem and stage it is about. Needs
nothing but Python; a start for a server of one's own. Listens on the loopback address only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).parent / "kernels"
MODEL = "by-hand"
_PROBLEM = re.compile(r'name="(?:[\w./-]*/)?(\w+)\.py"')

Reply = dict[str, Any]


def plan(prompt: str) -> Reply:
    """A draft that is certainly right first, then the one change that pays most."""
    if "stage refine" in prompt:
        idea, move, gain = "rows are independent: share them among threads, and use vectors", "parallelise", 2.0
    else:
        idea, move, gain = "one pass over each row, everything fused, nothing clever", "fuse", 1.0
    return {"hypothesis": idea, "moves": [{"name": move, "parameters": {}}], "expected_gain": gain}


def code(prompt: str) -> Reply:
    """The kernel of the problem and stage."""
    found = _PROBLEM.search(prompt)
    stage = "refine" if "stage refine" in prompt else "draft"
    path = Handler.kernels / f"{found.group(1) if found else 'none'}_{stage}.py"
    if not path.is_file():
        return {"summary": "no kernel for this problem"}
    return {"summary": f"the {stage} written by hand", "source": path.read_text()}


def repair(_prompt: str) -> Reply:
    """What is said about a candidate that did not pass."""
    return {
        "critical_issue": "see the evaluation",
        "why": "written by hand",
        "minimal_fix": "correct the kernel by hand",
    }


def improve(_prompt: str) -> Reply:
    """What is said about a candidate that passed."""
    return {"bottleneck": "one core", "method": "parallelise", "modification_plan": "share the rows among threads"}


def inspect(_prompt: str) -> Reply:
    """The second opinion."""
    return {"cheating": False}


def profile(_prompt: str) -> Reply:
    """The reading of an evaluation."""
    return {"metrics": [], "bottleneck": "memory", "evidence": "every element is read and written once"}


ANSWERS: dict[str, Callable[[str], Reply]] = {
    "PlannerReply": plan, "DiagnosedPlannerReply": plan, "CoderReply": code, "DraftCritique": repair,
    "RefineCritique": improve, "InspectionReply": inspect, "ProfilerReply": profile,
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """`POST /v1/chat/completions`, streamed; `GET /v1/models`."""

    kernels = KERNELS

    def do_GET(self) -> None:
        """The one model."""
        self._send(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "you"}]})

    def do_POST(self) -> None:
        """One reply."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        schema = body.get("response_format", {}).get("json_schema", {}).get("name")
        if self.path != "/v1/chat/completions" or schema not in ANSWERS:
            self._send(404, {"error": {"message": f"nothing is known about {self.path} with the schema {schema}"}})
            return
        prompt = "\n\n".join(message["content"] for message in body["messages"])
        self._stream(body["model"], prompt, json.dumps(ANSWERS[schema](prompt)))

    def log_message(self, *_args: object) -> None:
        """Say nothing."""

    def _stream(self, model: str, prompt: str, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for start in range(0, len(text), 1000):
            self._event(model, {"content": text[start : start + 1000]})
        self._event(model, {}, finish="stop")
        sizes = len(prompt) // 4, len(text) // 4
        usage = {"prompt_tokens": sizes[0], "completion_tokens": sizes[1], "total_tokens": sum(sizes)}
        self._event(model, None, usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, model: str, delta: Reply | None, finish: str | None = None, usage: Reply | None = None) -> None:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
        self.wfile.write(f"data: {json.dumps({**chunk, 'usage': usage})}\n\n".encode())

    def _send(self, status: int, document: Reply) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8011, help="0 for any free one")
    parser.add_argument("--kernels", type=Path, default=KERNELS, help="folder with a draft and a refine for each")
    given = parser.parse_args()
    Handler.kernels = given.kernels
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/v1\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
