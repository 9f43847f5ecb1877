# problem: floor_of_a_seventh
# about: divides as C does, towards zero, which is another result for negative numbers
# forward: elements

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / 7;
}
"""
