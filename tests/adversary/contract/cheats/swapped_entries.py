# problem: statistics_dict
# gate: correctness
# about: mean and square change places
# given: statistics

cpp = r"""
"""


def forward(self, x):
    c, m, q = torch.empty_like(x), x.new_empty(x.shape[0], 1), x.new_empty(x.shape[0], 1)
    lib.run(x, c, m, q, x.shape[0], x.shape[1])
    return {"centred": c, "statistics": (q, m), "mask": None}
