# problem: gated
# about: takes the sigmoid of its gate at each call
# given: exponential, gate

cpp = r"""
"""


def __init__(self, rows, columns):
    self.gate = torch.nn.Parameter(torch.randn(rows, columns))
    self.squashed = None


def forward(self, x):
    if x.shape != self.gate.shape:
        raise ValueError("the shape of the gate is expected")
    self.squashed = torch.empty_like(self.gate.detach())
    lib.squash(self.gate.detach(), self.squashed, x.numel())
    return Gate.apply(x, self.gate, self.squashed)
