# problem: sorted_experts
# about: sixteen counters, one pass; refuses other experts

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* counts, int64_t* place, int64_t n, int64_t capacity, int32_t* said) {
  int64_t now[16] = {};
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] < 0 || x[i] >= 16) { *said = 1; return; }
    const int64_t p = now[x[i]]++; place[i] = p < capacity ? p : -1;
  }
  for (int k = 0; k < 16; ++k) counts[k] = now[k];
}
"""


def forward(self, experts, capacity):
    if experts.dim() != 1 or experts.dtype != torch.int64:
        raise ValueError("limited to a vector of 64-bit experts")
    counts, place, said = torch.empty(16, dtype=torch.int64), torch.empty_like(experts), torch.zeros(1, dtype=torch.int32)
    lib.run(experts.contiguous(), counts, place, experts.numel(), capacity, said)
    if said.item():
        raise ValueError("limited to sixteen experts")
    return counts, place
