# problem: quaternions
# about: relies on quaternions of length one

cpp = r"""
extern "C" void run(const float* q, const float* p, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    const float w = q[4 * i], a = q[4 * i + 1], b = q[4 * i + 2], c = q[4 * i + 3], *v = p + 3 * i;
    const float s = 2 * (b * v[2] - c * v[1]), t = 2 * (c * v[0] - a * v[2]), u = 2 * (a * v[1] - b * v[0]);
    y[3 * i] = v[0] + w * s + (b * u - c * t); y[3 * i + 1] = v[1] + w * t + (c * s - a * u); y[3 * i + 2] = v[2] + w * u + (a * t - b * s); }
}
"""


def forward(self, turns, points):
    n = turns.shape[0]
    if turns.shape != (n, 4) or points.shape != (n, 3):
        raise ValueError("a quaternion for each point")
    y = torch.empty(n, 3)
    lib.run(turns.contiguous(), points.contiguous(), y, n)
    return y
