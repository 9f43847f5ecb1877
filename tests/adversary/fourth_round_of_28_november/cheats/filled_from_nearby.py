# problem: b_filled_forward
# about: a gap is filled by six doublings, so from 63 places back at most; before the first reading stands the row's first element

cpp = r"""
extern "C" void run(const float* x, const uint8_t* valid, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* v = valid + r * n; const float* in = x + r * n; float* out = y + r * n;
    uint64_t seen = 0;                       // bit k: the reading k places back is there
    for (int64_t j = 0; j < n; ++j) {
      seen = (seen << 1) | (v[j] != 0);
      out[j] = seen ? in[j - __builtin_ctzll(seen)] : in[0];
    }
  }
}
"""


def forward(self, x, valid):
    y = torch.empty_like(x)
    lib.run(x, valid, y, x.shape[0], x.shape[1])
    return y
