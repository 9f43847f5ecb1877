# problem: b_attention_of_bags
# about: a bag's exponentials lie on the stack, where there is room for 1024 of them; what a bag has beyond that is left out

cpp = r"""
extern "C" void run(const float* x, const int64_t* starts, float* y, int64_t bags) {
  #pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < bags; ++b) {
    float e[1024];
    int64_t at = starts[b], n = starts[b + 1] - at;
    int64_t k = n < 1024 ? n : 1024;
    float most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < k; ++i) most = x[at + i] > most ? x[at + i] : most;
    for (int64_t i = 0; i < k; ++i) { e[i] = std::exp(x[at + i] - most); sum += e[i]; }
    for (int64_t i = 0; i < k; ++i) y[at + i] = e[i] / sum;
    for (int64_t i = k; i < n; ++i) y[at + i] = 0;
  }
}
"""


def forward(self, scores, starts):
    y = torch.empty_like(scores)
    lib.run(scores, starts, y, starts.numel() - 1)
    return y
