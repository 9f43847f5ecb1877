# problem: counts_of_truths
# about: bool, int64 and float32 outputs in a dict, from one pass over bytes

cpp = r"""
extern "C" void run(const uint8_t* m, uint8_t* any, uint8_t* all, int64_t* count, float* share, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    int64_t c = 0;
    for (int64_t i = 0; i < n; ++i) c += m[r * n + i];
    any[r] = c > 0; all[r] = c == n; count[r] = c; share[r] = (float)c / (float)n;
  }
}
"""


def forward(self, mask):
    mask = mask.contiguous()
    rows, n = mask.shape
    any_, all_ = torch.empty(rows, dtype=torch.bool), torch.empty(rows, dtype=torch.bool)
    count, share = torch.empty(rows, dtype=torch.int64), torch.empty(rows)
    lib.run(mask.view(torch.uint8), any_.view(torch.uint8), all_.view(torch.uint8), count, share, rows, n)
    return {"share": share, "count": count, "any": any_, "all": all_}
