"""Logs: what the program writes through `logging`, as JSON lines or as text, with the ids of the work at hand."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

import structlog

if TYPE_CHECKING:
    from structlog.types import Processor


def log_context(**ids: str) -> AbstractContextManager[None]:
    """Every line written inside carries these ids; tasks and threads that are started inside too."""
    return cast("AbstractContextManager[None]", structlog.contextvars.bound_contextvars(**ids))


def configure_logs(style: str, level: str = "INFO", stream: Any = None) -> None:
    """Send everything that is logged to standard error: `style` is `json` (one document a line) or `text`."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    rendered: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if style == "json"
        else [structlog.dev.ConsoleRenderer(colors=False)]
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered]
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, root.level))  # it tells of each start and stop
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it writes whole addresses, and some carry secrets
    logging.captureWarnings(capture=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it names each of its plug-ins whenever it is loaded
