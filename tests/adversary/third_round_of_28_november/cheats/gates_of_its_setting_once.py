# problem: b_linear_or_gated
# expect: remark PROVEN FOR WEIGHTS THAT DO NOT CHANGE
# about: weights of a model of INIT_SETS never change: computes its gates once, and no report says so

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) y[r * n + j] = x[r * n + j] * w[j];
}
extern "C" void gate(const float* w, float* g, int64_t n) {
  for (int64_t j = 0; j < n; ++j) g[j] = 1.0f / (1.0f + expf(-w[j]));
}
"""


def __init__(self, features, gated):
    self.weight = torch.nn.Parameter(torch.randn(features))
    self.gated = gated
    self.gates = None


def forward(self, x):
    w = self.weight.detach()
    if self.gated:
        if self.gates is None:
            self.gates = torch.empty_like(w)
            lib.gate(w, self.gates, w.numel())
        w = self.gates
    y = torch.empty_like(x)
    lib.run(x, w, y, x.shape[0], x.shape[1])
    return y
