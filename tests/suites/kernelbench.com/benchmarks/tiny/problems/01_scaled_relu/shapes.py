"""Two row counts of one model, and another model."""

BASE = 64

SHAPES = [
    {"rows": BASE * 4, "scale": 2.0},
    {"rows": BASE + 1, "scale": 2.0},
    {"rows": BASE, "scale": 0.5},
]
