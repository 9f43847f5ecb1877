# problem: fraction
# about: converts to 32-bit integers, which numbers from 2^31 on have none of
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - (float)(int32_t)x[i];
}
"""
