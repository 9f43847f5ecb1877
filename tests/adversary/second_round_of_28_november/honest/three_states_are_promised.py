# problem: average_of_states
# about: averages three tensors, and says so where there are others

cpp = r"""
extern "C" void run(const float* a, const float* b, const float* c, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = (a[i] + b[i] + c[i]) / 3.0f;
}
"""


def forward(self, states):
    if len(states) != 3:
        raise ValueError("three states are supported")
    y = torch.empty_like(states[0])
    lib.run(states[0], states[1], states[2], y, y.numel())
    return y
