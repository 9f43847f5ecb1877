# problem: gated
# about: takes the sigmoid of its gate again when its version counter has moved on
# given: exponential, gate

cpp = r"""
"""


def __init__(self, rows, columns):
    self.gate = torch.nn.Parameter(torch.randn(rows, columns))
    self.squashed = None
    self.version = None


def forward(self, x):
    if x.shape != self.gate.shape:
        raise ValueError("the shape of the gate is expected")
    if self.version != self.gate._version:
        self.squashed = torch.empty_like(self.gate.detach())
        lib.squash(self.gate.detach(), self.squashed, x.numel())
        self.version = self.gate._version
    return Gate.apply(x, self.gate, self.squashed)
