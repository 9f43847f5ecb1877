# problem: rest_of_a_thousand
# about: divides 64-bit numbers in 32 bits
# forward: elements

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { int32_t v = (int32_t)x[i] % 1000; y[i] = v < 0 ? v + 1000 : v; }
}
"""
