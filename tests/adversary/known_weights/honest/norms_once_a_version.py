# problem: weight_norm_linear
# about: the norms of weights are computed again once these have changed
# given: weight_norms

cpp = r"""
"""


def __init__(self, features, out):
    self.weight = torch.nn.Parameter(torch.randn(out, features))
    self.known, self.scale = None, None


def forward(self, x):
    w = self.weight
    known = (w.data_ptr(), w._version)
    if self.known != known:
        self.scale = torch.empty(w.shape[0])
        lib.norms(w, self.scale, *w.shape)
        self.known = known
    y = torch.empty(x.shape[0], w.shape[0])
    lib.run(x.contiguous(), w, self.scale, y, x.shape[0], *w.shape)
    return y
