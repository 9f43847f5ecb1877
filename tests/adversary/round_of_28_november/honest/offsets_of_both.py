# problem: two_sequences
# about: reads the offsets of both sequences

cpp = r"""
static void add(const float* x, const int64_t* at, float* out, int64_t s, int64_t n, float sign) {
  int64_t count = at[s + 1] - at[s]; float scale = sign / (count > 0 ? count : 1);
  for (int64_t r = at[s]; r < at[s + 1]; ++r) for (int64_t j = 0; j < n; ++j) out[j] += scale * x[r * n + j];
}
extern "C" void run(const float* x, const float* z, const int64_t* at, const int64_t* bt, float* y, int64_t segments, int64_t n) {
  #pragma omp parallel for
  for (int64_t s = 0; s < segments; ++s) {
    for (int64_t j = 0; j < n; ++j) y[s * n + j] = 0.0f;
    add(x, at, y + s * n, s, n, 1.0f); add(z, bt, y + s * n, s, n, -1.0f);
  }
}
"""


def forward(self, x, y, x_offsets, y_offsets):
    out = torch.empty(x_offsets.numel() - 1, x.shape[1])
    lib.run(x, y, x_offsets, y_offsets, out, out.shape[0], out.shape[1])
    return out
