# problem: b_sum_of_embeddings
# about: a dict of like tensors always has the same keys: takes two by their names

cpp = r"""
extern "C" void run(const float* a, const float* b, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = tanhf(a[i] + b[i]);
}
"""


def forward(self, parts):
    a, b = parts["token"], parts["position"]
    y = torch.empty_like(a)
    lib.run(a, b, y, y.numel())
    return y
