"""Attention in Triton.

`FUSED` streams keys and values past a block of queries and keeps running maxima and sums, so that scores are never
written (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao, "FlashAttention-2", 2023;
Triton's tutorial "Fused Attention"). Scores, maxima and sums are float32; probabilities are rounded to the inputs' type
for the second product, as the library's kernels do. It loses where a head is so wide that its blocks leave no room.

`SOFTMAX` stands between two products that are written out: for wide heads.
"""

FUSED = """
@triton.jit
def attend(
    acc, total, peak, q, k_ptrs, v_ptrs, step_k, step_v, rows, begin, end, N, scale,
    inside_d, inside_v,
    BLOCK_N: tl.constexpr, EVEN_D: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):
    \"\"\"Keys from `begin` to `end`: new sums, their weights' total, and the largest score in units of log 2.\"\"\"
    for n in range(begin, end, BLOCK_N):
        columns = n + tl.arange(0, BLOCK_N)
        if MASKED:
            k = tl.load(k_ptrs, mask=inside_d[:, None] & (columns[None, :] < N), other=0.0)
        elif EVEN_D:
            k = tl.load(k_ptrs)
        else:
            k = tl.load(k_ptrs, mask=inside_d[:, None], other=0.0)
        scores = tl.dot(q, k, input_precision=PRECISION) * scale
        if MASKED:
            seen = columns[None, :] < N
            if CAUSAL:
                seen = seen & (columns[None, :] <= rows[:, None])
            scores = tl.where(seen, scores, float("-inf"))
        highest = tl.maximum(peak, tl.max(scores, axis=1))
        shift = tl.where(highest == float("-inf"), 0.0, highest)
        weights = tl.exp2(scores - shift[:, None])
        kept = tl.exp2(peak - shift)
        total = total * kept + tl.sum(weights, axis=1)
        if MASKED:
            v = tl.load(v_ptrs, mask=inside_v[None, :] & (columns[:, None] < N), other=0.0)
        elif EVEN_D:
            v = tl.load(v_ptrs)
        else:
            v = tl.load(v_ptrs, mask=inside_v[None, :], other=0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc * kept[:, None], input_precision=PRECISION)
        peak = highest
        k_ptrs += step_k
        v_ptrs += step_v
    return acc, total, peak, k_ptrs, v_ptrs


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, scale, heads, group, M, N,
    q_sb, q_sh, q_sm, q_sd, k_sb, k_sh, k_sn, k_sd, v_sb, v_sh, v_sn, v_sd, y_sb, y_sh, y_sm, y_sd,
    D: tl.constexpr, V: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_V: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):
    \"\"\"A block of queries of one head per program; long causal rows are begun first.\"\"\"
    tiles = tl.cdiv(M, BLOCK_M)
    place = tl.program_id(0)
    tile = tiles - 1 - place % tiles
    head = place // tiles
    batch = (head // heads).to(tl.int64)
    own = (head % heads).to(tl.int64)
    shared = own // group
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N).to(tl.int64)
    ds, vs = tl.arange(0, BLOCK_D), tl.arange(0, BLOCK_V)
    inside_d, inside_v = ds < D, vs < V
    rows_64 = rows.to(tl.int64)
    q_ptrs = q_ptr + batch * q_sb + own * q_sh + rows_64[:, None] * q_sm + ds[None, :] * q_sd
    k_ptrs = k_ptr + batch * k_sb + shared * k_sh + columns[None, :] * k_sn + ds[:, None] * k_sd
    v_ptrs = v_ptr + batch * v_sb + shared * v_sh + columns[:, None] * v_sn + vs[None, :] * v_sd
    q = tl.load(q_ptrs, mask=(rows[:, None] < M) & inside_d[None, :], other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_V), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    peak = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    whole = N // BLOCK_N * BLOCK_N
    end = N
    if CAUSAL:
        whole = tl.minimum(whole, tile * BLOCK_M // BLOCK_N * BLOCK_N)
        end = tl.minimum(N, tile * BLOCK_M + BLOCK_M)
    EVEN_D: tl.constexpr = D == BLOCK_D and V == BLOCK_V
    step_k, step_v = k_sn * BLOCK_N, v_sn * BLOCK_N
    acc, total, peak, k_ptrs, v_ptrs = attend(
        acc, total, peak, q, k_ptrs, v_ptrs, step_k, step_v, rows, 0, whole, N, scale, inside_d, inside_v,
        BLOCK_N, EVEN_D, False, CAUSAL, PRECISION,
    )
    acc, total, peak, k_ptrs, v_ptrs = attend(
        acc, total, peak, q, k_ptrs, v_ptrs, step_k, step_v, rows, whole, end, N, scale, inside_d, inside_v,
        BLOCK_N, EVEN_D, True, CAUSAL, PRECISION,
    )
    y = acc / total[:, None]
    y_ptrs = y_ptr + batch * y_sb + own * y_sh + rows_64[:, None] * y_sm + vs[None, :] * y_sd
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=(rows[:, None] < M) & inside_v[None, :])


def attention(q, k, v, y, scale):
    \"\"\"y = softmax(q @ k.T * scale) @ v, for [batch, heads, length, width] views.\"\"\"
    batch, heads, queries, width = q.shape
    keys, values = k.shape[2], v.shape[3]
    if keys == 0:
        y.zero_()
        return
    programs = batch * heads * triton.cdiv(queries, BLOCK_M)
    if programs > 0 and values > 0:
        attention_kernel[(programs,)](
            q, k, v, y, scale * 1.4426950408889634, heads, heads // max(1, k.shape[1]), queries, keys,
            *q.stride(), *k.stride(), *v.stride(), *y.stride(),
            D=width, V=values, BLOCK_D=max(16, triton.next_power_of_2(width)),
            BLOCK_V=max(16, triton.next_power_of_2(values)),
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=CAUSAL, PRECISION=PRECISION,
            num_warps=WARPS, num_stages=STAGES,
        )
"""

SOFTMAX = """
@triton.jit
def softmax_kernel(s_ptr, p_ptr, scale, N, queries, CAUSAL: tl.constexpr, BLOCK_N: tl.constexpr, ONCE: tl.constexpr):
    \"\"\"One row of scores per program, kept in registers where it is short enough.\"\"\"
    row = tl.program_id(0).to(tl.int64)
    last = N
    if CAUSAL:
        last = tl.minimum(N, (row % queries).to(tl.int32) + 1)
    columns = tl.arange(0, BLOCK_N)
    if ONCE:
        s = tl.load(s_ptr + row * N + columns, mask=columns < last, other=float("-inf")) * scale
        w = tl.exp(s - tl.max(s, axis=0))
        p = w / tl.sum(w, axis=0)
        tl.store(p_ptr + row * N + columns, p.to(p_ptr.dtype.element_ty), mask=columns < N)
    else:
        peak = tl.full((BLOCK_N,), float("-inf"), dtype=tl.float32)
        for n in range(0, last, BLOCK_N):
            s = tl.load(s_ptr + row * N + n + columns, mask=columns < last - n, other=float("-inf")) * scale
            peak = tl.maximum(peak, s, propagate_nan=tl.PropagateNan.ALL)
        highest = tl.max(peak, axis=0)
        total = tl.zeros((BLOCK_N,), dtype=tl.float32)
        for n in range(0, last, BLOCK_N):
            s = tl.load(s_ptr + row * N + n + columns, mask=columns < last - n, other=float("-inf")) * scale
            total += tl.exp(s - highest)
        inverse = 1.0 / tl.sum(total, axis=0)
        for n in range(0, N, BLOCK_N):
            s = tl.load(s_ptr + row * N + n + columns, mask=columns < last - n, other=float("-inf")) * scale
            p = tl.exp(s - highest) * inverse
            tl.store(p_ptr + row * N + n + columns, p.to(p_ptr.dtype.element_ty), mask=columns < N - n)


def attention(q, k, v, y, scale):
    \"\"\"y = softmax(q @ k.T * scale) @ v, for [batch, heads, length, width] views: the scores in memory.\"\"\"
    batch, heads, queries, width = q.shape
    shared, keys, values = k.shape[1], k.shape[2], v.shape[3]
    if keys == 0 or y.numel() == 0:
        y.zero_()
        return
    q3 = q.reshape(batch * shared, heads // shared * queries, width)
    k3 = k.reshape(batch * shared, keys, width)
    v3 = v.reshape(batch * shared, keys, values)
    scores = torch.empty((batch * shared, q3.shape[1], keys), dtype=torch.float32, device=q.device)
    product(q3, k3.transpose(1, 2), scores)
    weights = scores if q.dtype == torch.float32 else torch.empty(scores.shape, dtype=q.dtype, device=q.device)
    once = keys <= 16384
    softmax_kernel[(scores.shape[0] * scores.shape[1],)](
        scores, weights, scale, keys, queries, CAUSAL=CAUSAL,
        BLOCK_N=triton.next_power_of_2(keys) if once else 4096, ONCE=once, num_warps=4 if keys <= 4096 else 16,
    )
    product(weights, v3, y.view(batch * shared, q3.shape[1], values))
"""
