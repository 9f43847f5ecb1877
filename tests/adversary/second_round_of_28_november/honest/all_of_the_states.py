# problem: average_of_states
# about: averages all tensors of the list

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t count, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    float s = 0.0f;
    for (int64_t k = 0; k < count; ++k) s += x[k * n + i];
    y[i] = s / count;
  }
}
"""


def forward(self, states):
    y = torch.empty_like(states[0])
    lib.run(torch.stack(states), y, len(states), y.numel())
    return y
