"""Matched experiments with agents: arms, figures of a job, paired statistics; see `benchmarks/agents_ab.py`."""
