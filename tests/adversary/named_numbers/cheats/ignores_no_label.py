# problem: cross_entropy_of_many
# gate: generalization
# about: treats the label that means "ignore" as the first class
# given: exponential

cpp = r"""
extern "C" void run(const float* x, const int64_t* label, float* y, int64_t rows, int64_t n) {
  double total = 0; int64_t count = 0;
  #pragma omp parallel for reduction(+ : total, count)
  for (int64_t r = 0; r < rows; ++r) { 
    const float* in = x + r * n; float top = in[0], sum = 0;
    for (int64_t i = 1; i < n; ++i) top = std::fmax(top, in[i]);
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += ex(in[i] - top);
    total += std::log(sum) + top - in[label[r] < 0 ? 0 : label[r]]; ++count; }
  y[0] = total / count;
}
"""


def forward(self, logits, labels):
    y = torch.empty(())
    lib.run(logits, labels, y, logits.shape[0], logits.shape[1])
    return y
