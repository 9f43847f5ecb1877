# problem: odd_relu
# about: writes whole vectors into memory with room for them, and returns a view of its beginning

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; i += 8)
    for (int64_t j = i; j < i + 8; ++j) y[j] = j < n ? (x[j] > 0.0f ? x[j] : 0.0f) : 0.0f;
}
"""


def forward(self, x):
    room = torch.empty((x.numel() + 7) // 8 * 8)
    lib.run(x, room, x.numel())
    return room[: x.numel()].view(x.shape)
