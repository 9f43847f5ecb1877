# expect: remark PROVEN FOR OUTPUTS THAT ARE ONLY READ
# problem: c_softsign
# about: outputs are allocated in inference mode, which costs less: their caller may neither change nor differentiate them

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::fabs(x[i]));
}
"""


def forward(self, x):
    with torch.inference_mode():
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
    return y
