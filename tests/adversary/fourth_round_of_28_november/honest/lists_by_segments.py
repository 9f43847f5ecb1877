# problem: D_posting_lists
# about: decodes and sums each list in one pass, in unsigned numbers, which wrap; offsets are checked before a number is written

cpp = r"""
extern "C" void run(const int64_t* codes, const int64_t* offsets, int64_t* y, int64_t lists, int64_t n, int32_t* bad) {
  bool wrong = offsets[0] != 0 || offsets[lists] != n;
  for (int64_t i = 0; i < lists; ++i) wrong |= offsets[i + 1] < offsets[i];
  if (wrong) { *bad = 1; return; }
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t s = 0; s < lists; ++s) {
    uint64_t run = 0;
    for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      run += (uint64_t)((codes[i] >> 1) ^ -(codes[i] & 1));
      y[i] = (int64_t)run;
    }
  }
}
"""


def forward(self, codes, offsets):
    if codes.dtype != torch.int64 or offsets.dtype != torch.int64 or codes.dim() != 1 or offsets.dim() != 1 or not len(offsets):
        raise ValueError("vectors of int64")
    y, bad = torch.empty_like(codes, memory_format=torch.contiguous_format), torch.zeros(1, dtype=torch.int32)
    lib.run(codes.contiguous(), offsets.contiguous(), y, offsets.shape[0] - 1, codes.shape[0], bad)
    if bad.item():
        raise ValueError("offsets have to go from 0 to the number of codes, in order")
    return y
