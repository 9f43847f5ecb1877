# problem: c_centred
# expect: remark PROVEN FOR THREADS WITH A LARGE STACK
# about: a copy of each row lies on the stack, whatever its length and the size of the calling thread's stack
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    float row[n + 1];
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += row[i] = x[r * n + i];
    const float mean = (float)(sum / (double)n);
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = row[i] - mean;
  }
}
"""
