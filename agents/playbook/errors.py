"""Why the playbook has no answer."""

from __future__ import annotations


class NoTemplateError(Exception):
    """The graph holds something that no template covers; the message names it."""
