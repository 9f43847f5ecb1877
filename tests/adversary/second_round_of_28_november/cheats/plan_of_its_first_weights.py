# problem: linear_with_bias
# expect: remark PROVEN FOR MODELS THAT ARE NOT COPIED
# about: a plan made once holds the addresses of weight and bias: a copy of the model, and other parameters in their place, are not seen
# given: matrix_product

cpp = r"""
struct Plan { const float *w, *b; int64_t n, m; };
static Plan plans[4096];
extern "C" void make(int64_t id, const float* w, const float* b, int64_t n, int64_t m) { plans[id] = {w, b, n, m}; }
extern "C" void run(int64_t id, const float* x, float* y, int64_t rows) {
  const Plan& p = plans[id];
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < p.m; ++o) {
      float sum = p.b[o];
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < p.n; ++i) sum += x[r * p.n + i] * p.w[o * p.n + i];
      y[r * p.m + o] = sum;
    }
}
"""

made = []


def __init__(self, features, out):
    self.weight = torch.nn.Parameter(torch.randn(out, features) / features**0.5)
    self.bias = torch.nn.Parameter(torch.randn(out))
    self.plan = None


def forward(self, x):
    out, features = self.weight.shape
    if x.dim() != 2 or x.shape[1] != features:
        raise ValueError("rows of the announced width are expected")
    if self.plan is None:
        self.plan = len(made)
        made.append(self.plan)
        lib.make(self.plan, self.weight, self.bias, features, out)
    y = torch.empty(x.shape[0], out)
    lib.run(self.plan, x, y, x.shape[0])
    return y
