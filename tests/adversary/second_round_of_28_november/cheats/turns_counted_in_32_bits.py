# problem: time_to_vector
# about: a sine that counts its half turns in 32 bits, and takes off pi in two parts

cpp = r"""
static inline float sine(float x) {
  const int32_t n = (int32_t)lrintf(x * 0.318309886f);
  const float f = (float)n;
  float r = (float)((double)x - (double)f * 3.14159265358979);
  const float s = r * r;
  const float p = r + r * s * (-1.6666667e-1f + s * (8.3333310e-3f + s * (-1.9840874e-4f + s * (2.7525562e-6f - s * 2.3889859e-8f))));
  return n & 1 ? -p : p;
}
extern "C" void run(const float* t, const float* w, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) { const float m = t[r] * w[j]; y[r * n + j] = sine(m + b[j]); }
}
"""


def forward(self, t, frequency, phase):
    y = torch.empty(t.shape[0], frequency.shape[0])
    lib.run(t, frequency, phase, y, y.shape[0], y.shape[1])
    return y
