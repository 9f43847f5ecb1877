# problem: time_to_vector
# about: the sine of a double that holds the product as the reference rounds it

cpp = r"""
extern "C" void run(const float* t, const float* w, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) { volatile float m = t[r] * w[j]; volatile float a = m + b[j]; y[r * n + j] = (float)sin((double)a); }
}
"""


def forward(self, t, frequency, phase):
    y = torch.empty(t.shape[0], frequency.shape[0])
    lib.run(t, frequency, phase, y, y.shape[0], y.shape[1])
    return y
