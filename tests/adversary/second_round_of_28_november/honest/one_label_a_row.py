# problem: loss_of_one_hot_labels
# about: takes the place of the one in each row, and no others; the report names the limit
# expect: accepted
# remark: PROVEN FOR ONE PLACE IN EACH ROW IN `target` ONLY

cpp = r"""
extern "C" void run(const float* x, const float* t, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *in = x + r * n, *to = t + r * n; float m = -INFINITY; double s = 0; int64_t label = 0;
    for (int64_t j = 0; j < n; ++j) m = in[j] > m || in[j] != in[j] ? in[j] : m;
    for (int64_t j = 0; j < n; ++j) s += std::exp(in[j] - m);
    for (int64_t j = 0; j < n; ++j) if (to[j] > 0.5f) label = j;
    y[r] = n ? (float)(m + std::log(s)) - in[label] : 0.0f;
  }
}
"""


def forward(self, logits, target):
    y = torch.empty(logits.shape[0])
    lib.run(logits, target, y, logits.shape[0], logits.shape[1])
    return y
