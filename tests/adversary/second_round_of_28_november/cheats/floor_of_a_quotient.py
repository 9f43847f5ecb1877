# problem: tenths
# about: takes the floor of a rounded quotient, where PyTorch takes the exact one's
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = floorf(x[i] / 0.1f);
}
"""
