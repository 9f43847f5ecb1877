"""A finished kernel as files."""

from services.exports.evidence import KERNEL, REPORT, RUNTIME, TRAJECTORY
from services.exports.exporter import Export, Exporter
from services.exports.winner import exported_source

__all__ = ["KERNEL", "REPORT", "RUNTIME", "TRAJECTORY", "Export", "Exporter", "exported_source"]
