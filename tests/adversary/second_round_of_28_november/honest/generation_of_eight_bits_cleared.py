# problem: distinct_tokens
# about: marks tokens with the number of the call in 8 bits, and clears all marks when that begins again

cpp = r"""
static uint8_t mark[16384];
static uint8_t call = 0;
extern "C" int64_t run(const int64_t* tokens, int64_t* out, int64_t n) {
  if (++call == 0) { memset(mark, 0, sizeof mark); call = 1; }
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t t = tokens[i];
    if (t < 0) t += 16384;
    if (t < 0 || t >= 16384) return 1;
    if (mark[t] != call) { mark[t] = call; ++count; }
  }
  *out = count;
  return 0;
}
"""


def forward(self, tokens):
    out = torch.empty((), dtype=torch.int64)
    if lib.run(tokens, out, tokens.numel()):
        raise IndexError("token out of range")
    return out
