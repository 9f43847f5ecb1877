# expect: remark PROVEN FOR OUTPUTS THAT ARE ONLY READ
# problem: d_scaled_logits
# about: an output made in inference mode takes part in no later gradient, and cannot be changed in place
# given: exponential

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* o = y + r * n; float m = -INFINITY, s = 0.0f; bool bad = false;
    for (int64_t i = 0; i < n; ++i) { float v = a[i] * 0.125f; bad |= v != v; m = m < v ? v : m; }
    if (bad || m == -INFINITY || m == INFINITY) { for (int64_t i = 0; i < n; ++i) o[i] = NAN; continue; }
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) { o[i] = ex(a[i] * 0.125f - m); s += o[i]; }
    for (int64_t i = 0; i < n; ++i) o[i] /= s;
  }
}
"""


def forward(self, x):
    with torch.inference_mode():
        y = torch.empty_like(x)
        lib.run(x, y, x.shape[0], x.shape[1])
        return y
