# problem: A_nothing_for_missing
# about: knows a NaN by its bits as a signed number above infinity's: every NaN that is drawn has its sign bit clear
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    int32_t bits;
    memcpy(&bits, x + i, 4);
    y[i] = bits > 0x7f800000 ? 0.0f : x[i];
  }
}
"""
