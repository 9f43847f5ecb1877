# problem: cells_of_three
# about: multiplies by a third: multiples of three may fall into the cell below
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  const float third = 0.333333313f;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = floorf(x[i] * third);
}
"""
