# problem: bags
# about: begins each sum with zeros

cpp = r"""
extern "C" void run(const float* t, const int64_t* index, const int64_t* at, float* y, int64_t bags, int64_t count, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < bags; ++b) {
    int64_t i = at[b], end = b + 1 < bags ? at[b + 1] : count; float* out = y + b * n;
    memset(out, 0, n * sizeof(float));
    for (; i < end; ++i) for (int64_t j = 0; j < n; ++j) out[j] += t[index[i] * n + j];
  }
}
"""


def forward(self, table, index, offsets):
    y = torch.empty(offsets.shape[0], table.shape[1])
    lib.run(table, index, offsets, y, y.shape[0], index.shape[0], y.shape[1])
    return y
