# problem: padded_mean
# about: relies on a mask of prefixes: it looks for the end by halves

cpp = r"""
extern "C" void run(const float* x, const float* mask, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    int64_t low = 0, high = n;
    while (low < high) { const int64_t middle = (low + high) / 2; if (mask[r * n + middle] != 0) low = middle + 1; else high = middle; }
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < low; ++i) sum += x[r * n + i];
    y[r] = sum / low; }
}
"""


def forward(self, x, mask):
    y = torch.empty(x.shape[0])
    lib.run(x, mask, y, x.shape[0], x.shape[1])
    return y
