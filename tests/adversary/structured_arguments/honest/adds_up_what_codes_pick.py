# problem: product_codes
# about: four sums at a time; a table has 256 entries, as bytes need

cpp = r"""
extern "C" void run(const uint8_t* codes, const float* tables, float* y, int64_t rows, int64_t parts) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* own = codes + r * parts; float sum[4] = {}; int64_t p = 0;
    for (; p + 4 <= parts; p += 4) for (int j = 0; j < 4; ++j) sum[j] += tables[(p + j) * 256 + own[p + j]];
    for (; p < parts; ++p) sum[0] += tables[p * 256 + own[p]];
    y[r] = (sum[0] + sum[1]) + (sum[2] + sum[3]); }
}
"""


def forward(self, codes, tables):
    rows, parts = codes.shape
    if tables.shape != (parts, 256) or codes.dtype != torch.uint8:
        raise ValueError("a table of 256 entries for each part")
    y = torch.empty(rows)
    lib.run(codes.contiguous(), tables.contiguous(), y, rows, parts)
    return y
