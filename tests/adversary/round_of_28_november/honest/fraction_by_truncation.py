# problem: fraction
# about: takes the whole part away, by an instruction that has no range
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - truncf(x[i]);
}
"""
