# problem: divergence
# about: maxima first, then three sums in one pass, closed form for a row: no logarithm but two of a row

cpp = r"""
extern "C" void run(const float* s, const float* t, float* y, int64_t rows, int64_t n, double temperature) {
  const float inverse = (float)(1.0 / temperature); double total = 0;
  #pragma omp parallel for reduction(+ : total)
  for (int64_t r = 0; r < rows; ++r) {
    const float *own = s + r * n, *aim = t + r * n; float a = -INFINITY, b = -INFINITY;
    for (int64_t i = 0; i < n; ++i) { a = own[i] * inverse > a ? own[i] * inverse : a; b = aim[i] * inverse > b ? aim[i] * inverse : b; }
    double p = 0, q = 0, cross = 0;
    #pragma omp simd reduction(+ : p, q, cross)
    for (int64_t i = 0; i < n; ++i) {
      const float u = own[i] * inverse - a, v = aim[i] * inverse - b, e = std::exp(v);
      p += std::exp(u); q += e; cross += e > 0 ? (double)e * ((double)v - u) : (v != v || u != u ? (double)NAN : 0.0);
    }
    total += cross / q - std::log(q) + std::log(p);
  }
  *y = (float)(total / rows * temperature * temperature);
}
"""


def forward(self, student, teacher, temperature=2.0):
    if student.dim() != 2 or teacher.shape != student.shape:
        raise ValueError("limited to two matrices of one shape")
    if student.numel() == 0:
        raise ValueError("limited to something to compare")
    if not temperature > 0:
        raise ValueError("limited to temperatures above zero")
    y = torch.empty(())
    lib.run(student.contiguous(), teacher.contiguous(), y, *student.shape, temperature)
    return y
