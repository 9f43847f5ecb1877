static inline float ex(float v) {
  float given = v; v = std::fmin(std::fmax(v, -87.0f), 88.0f) * 1.44269504f;
  float k = std::nearbyint(v), f = (v - k) * 0.69314718f;
  float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.16666667f + f * (0.041666668f + f * (0.0083333f + f * 0.0013889f)))));
  int32_t b = ((int32_t)k + 127) << 23; float s; std::memcpy(&s, &b, 4); return given > 88.0f ? INFINITY : p * s;
}
