# problem: E_slots_of_the_cache
# about: threads share the heads, so that tokens of one slot are written in order; slots are checked beforehand

cpp = r"""
extern "C" void run(const float* k, const float* v, float* kp, float* vp, const int64_t* slots, int64_t tokens, int64_t heads, int64_t d, int64_t room, int32_t* said) {
  for (int64_t i = 0; i < tokens; ++i) if (slots[i] >= room) { *said = 1; return; }
  #pragma omp parallel for
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < tokens; ++i) {
      if (slots[i] < 0) continue;
      std::memcpy(kp + (slots[i] * heads + h) * d, k + (i * heads + h) * d, 4 * d);
      std::memcpy(vp + (slots[i] * heads + h) * d, v + (i * heads + h) * d, 4 * d);
    }
}
"""


def forward(self, keys, values, key_pages, value_pages, slots):
    tokens, heads, d = keys.shape
    if values.shape != keys.shape or slots.shape != (tokens,) or key_pages.shape != value_pages.shape:
        raise ValueError("keys and values of one shape")
    if key_pages.shape[2:] != (heads, d) or not (key_pages.is_contiguous() and value_pages.is_contiguous()):
        raise ValueError("dense pages of as many heads")
    room = key_pages.shape[0] * key_pages.shape[1]
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(keys.contiguous(), values.contiguous(), key_pages, value_pages, slots.contiguous(), tokens, heads, d, room, said)
    if said.item():
        raise IndexError("a slot is out of range")
    return key_pages, value_pages
