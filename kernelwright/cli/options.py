"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

CompilerDraftOption = Annotated[
    bool | None,
    typer.Option(
        "--compiler-draft/--no-compiler-draft",
        help="Judge torch.compile's own code first and start from it (default: on).",
        show_default=False,
    ),
]
