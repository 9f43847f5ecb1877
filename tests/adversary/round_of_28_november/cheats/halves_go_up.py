# problem: to_the_nearest
# about: adds a half and rounds down: halves go up, and not to the even number
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = floorf(x[i] + 0.5f);
}
"""
