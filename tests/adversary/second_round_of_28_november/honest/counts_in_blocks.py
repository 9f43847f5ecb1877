# problem: truths
# about: counts in a float within blocks, and in 64 bits over them

cpp = r"""
extern "C" void run(const uint8_t* x, int64_t* y, int64_t n) {
  int64_t total = 0;
  #pragma omp parallel for reduction(+:total)
  for (int64_t b = 0; b < n; b += 65536) {
    const int64_t e = b + 65536 < n ? b + 65536 : n;
    float count = 0.0f;
    for (int64_t i = b; i < e; ++i) count += (float)x[i];
    total += (int64_t)count;
  }
  *y = total;
}
"""


def forward(self, mask):
    y = torch.empty((), dtype=torch.int64)
    lib.run(mask, y, mask.numel())
    return y
