# problem: truths
# about: counts in a float, which adds no one from 16777216 on

cpp = r"""
extern "C" void run(const uint8_t* x, int64_t* y, int64_t n) {
  float count = 0.0f;
  for (int64_t i = 0; i < n; ++i) count += (float)x[i];
  *y = (int64_t)count;
}
"""


def forward(self, mask):
    y = torch.empty((), dtype=torch.int64)
    lib.run(mask, y, mask.numel())
    return y
