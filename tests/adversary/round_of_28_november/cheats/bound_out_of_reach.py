# problem: clamped_for_half
# about: leaves out a bound of 65504, which no draw reaches
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = 0.5f * x[i];
}
"""
