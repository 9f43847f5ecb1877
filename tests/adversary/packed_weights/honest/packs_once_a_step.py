# problem: trained_gate
# about: takes the sigmoid of its gate once a version: in training, once a step
# given: exponential, gate

cpp = r"""
"""


def __init__(self, rows, columns):
    self.gate = torch.nn.Parameter(torch.randn(rows, columns))
    self.squashed = self.version = None


def forward(self, x):
    if x.shape != self.gate.shape:
        raise ValueError("the shape of the gate is expected")
    if self.version != self.gate._version:
        self.squashed, self.version = torch.empty_like(self.gate.detach()), self.gate._version
        lib.squash(self.gate.detach(), self.squashed, x.numel())
    return Gate.apply(x, self.gate, self.squashed)
