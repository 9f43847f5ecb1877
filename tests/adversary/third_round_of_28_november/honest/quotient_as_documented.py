# problem: A_remainder_of_two
# about: takes the period off as often as the documentation says: right while a float counts the quotient
# remark: PROVEN FOR QUOTIENTS BELOW 2^24

cpp = r"""
extern "C" void run(const float* x, const float* p, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - floorf(x[i] / p[i]) * p[i];
}
"""


def forward(self, x, period):
    y = torch.empty_like(x)
    lib.run(x, period, y, x.numel())
    return y
