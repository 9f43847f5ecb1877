# problem: listed_ids
# about: compares 32-bit whole numbers as floats

cpp = r"""
extern "C" void run(const int32_t* ids, const int32_t* listed, bool* y, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    float id = (float)ids[i];
    int found = 0;
    for (int64_t j = 0; j < m; ++j) found |= id == (float)listed[j];
    y[i] = found != 0;
  }
}
"""


def forward(self, ids, listed):
    y = torch.empty(ids.shape, dtype=torch.bool)
    lib.run(ids, listed, y, ids.numel(), listed.numel())
    return y
