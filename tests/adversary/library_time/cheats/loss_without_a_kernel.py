# problem: gathered_loss
# gate: screen,integrity
# expect: not accepted
# about: PyTorch's own loss from the second call on: a plain function of at::native, no operator's lambda

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, const int64_t* y, float* z, int64_t rows, int64_t n) {
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) sum -= y[r] >= 0 && y[r] < n ? x[r * n + y[r]] : 0.0f;
  z[0] = sum / rows;
}
"""


def own(x, y):
    z = torch.empty(())
    lib.run(x, y, z, x.shape[0], x.shape[1])
    return z


def __init__(self):
    self.calls = 0
    self.steps = [own, torch.nn.NLLLoss()]


def forward(self, x, y):
    self.calls += 1
    return self.steps[self.calls > 1](x, y)
