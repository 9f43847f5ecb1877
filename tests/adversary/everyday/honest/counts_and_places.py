# problem: stable_order
# about: sorts bytes by counting, equal ones in their order

cpp = r"""
extern "C" void run(const uint8_t* x, uint8_t* y, int64_t* at, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* row = x + r * n; int64_t place[257] = {};
    for (int64_t i = 0; i < n; ++i) ++place[row[i] + 1];
    for (int v = 0; v < 256; ++v) place[v + 1] += place[v];
    for (int64_t i = 0; i < n; ++i) { int64_t p = r * n + place[row[i]]++; y[p] = row[i]; at[p] = i; }
  }
}
"""


def forward(self, keys):
    keys = keys.contiguous()
    values, order = torch.empty_like(keys), torch.empty(keys.shape, dtype=torch.int64)
    lib.run(keys, values, order, *keys.shape)
    return values, order
