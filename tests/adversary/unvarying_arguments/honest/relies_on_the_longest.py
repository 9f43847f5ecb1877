# problem: longest_segment
# about: has room for the longest segment that it is told of, and no more

cpp = r"""
extern "C" void run(const float* x, const int64_t* offsets, float* y, float* room, int64_t segments, int64_t longest, int64_t n) {
  for (int64_t s = 0; s < segments; ++s) {
    const int64_t count = offsets[s + 1] - offsets[s];
    std::memcpy(room, x + offsets[s] * n, 4 * count * n);
    std::memset(room + count * n, 0, 4 * (longest - count) * n);
    float* out = y + s * n; std::memset(out, 0, 4 * n);
    for (int64_t r = 0; r < longest; ++r) for (int64_t i = 0; i < n; ++i) out[i] += room[r * n + i]; }
}
"""


def forward(self, x, offsets, longest):
    y = torch.empty(offsets.numel() - 1, x.shape[1])
    room = torch.empty(max(1, longest), x.shape[1])
    lib.run(x, offsets, y, room, y.shape[0], longest, x.shape[1])
    return y
