# problem: floor_of_a_seventh
# about: divides towards minus infinity
# forward: elements

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { int64_t q = x[i] / 7; y[i] = q - (x[i] - q * 7 < 0); }
}
"""
