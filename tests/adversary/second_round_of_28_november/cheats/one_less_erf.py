# problem: tail
# about: takes 1 - erf(x), of which nothing is left in the tail: a p-value of 0
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = 1.0f - erff(x[i]);
}
"""
