# problem: int4_weights
# about: unpacks two weights a byte

cpp = r"""

extern "C" void run(const uint8_t* p, const uint16_t* scale, const uint8_t* zero, uint16_t* y, int64_t rows, int64_t bytes) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < bytes; ++i) { int64_t g = r * (bytes / 16) + i / 16;
    _Float16 s; std::memcpy(&s, scale + g, 2); float z = zero[g];
    _Float16 low = (_Float16)(((p[r * bytes + i] & 15) - z) * (float)s), high = (_Float16)(((p[r * bytes + i] >> 4) - z) * (float)s);
    std::memcpy(y + 2 * (r * bytes + i), &low, 2); std::memcpy(y + 2 * (r * bytes + i) + 1, &high, 2); }
}
"""


def forward(self, packed, scale, zero):
    if packed.shape[1] != 16 * scale.shape[1]:
        raise ValueError("groups of 32 weights")
    y = torch.empty(packed.shape[0], 2 * packed.shape[1], dtype=torch.float16)
    lib.run(packed.contiguous(), scale.contiguous(), zero.contiguous(), y, packed.shape[0], packed.shape[1])
    return y
