"""Matrix products in Triton.

All compute y[i] = a[i] @ b[i] over three-dimensional views through their strides, in tiles that are kept in registers
while the inner dimension streams by; tiles are visited in groups of rows, so that neighbours share what is in L2
(Triton's tutorial "Matrix Multiplication"). Sums are float32. float32 factors are multiplied as three TF32 products of
a leading and a remaining part each (`tf32x3`; Markidis et al., "NVIDIA Tensor Core Programmability, Performance &
Precision", 2018; Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
theoretical peak performance", 2022): about as exact as float32 products, unlike TF32 itself.
"""

POSITION = """
@triton.jit
def tile_of(place, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    \"\"\"Batch, row tile and column tile: down a group of row tiles first, then to the next column.\"\"\"
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    batch = place // (tiles_m * tiles_n)
    place = place % (tiles_m * tiles_n)
    first = place // (GROUP * tiles_n) * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    place = place % (GROUP * tiles_n)
    return batch.to(tl.int64), first + place % height, place // height
"""

TILE_SUM = """
@triton.jit
def tile_sum(
    a_ptrs, b_ptrs, inside_a, inside_b, ks, begin, end, step_a, step_b,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    EVEN: tl.constexpr, PRECISION: tl.constexpr,
):
    \"\"\"The product of a row of tiles and a column of tiles, from `begin` to `end` of the inner dimension.\"\"\"
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(begin, end, BLOCK_K):
        if EVEN:
            left = tl.load(a_ptrs)
            right = tl.load(b_ptrs)
        else:
            left = tl.load(a_ptrs, mask=inside_a & (ks[None, :] < end - k), other=0.0)
            right = tl.load(b_ptrs, mask=inside_b & (ks[:, None] < end - k), other=0.0)
        acc = tl.dot(left, right, acc, input_precision=PRECISION)
        a_ptrs += step_a
        b_ptrs += step_b
    return acc
"""

TILED = """
@triton.jit
def product_kernel(
    a_ptr, b_ptr, y_ptr,<<pointers>>
    M, N, K, a_sb, a_sm, a_sk, b_sb, b_sk, b_sn, y_sb, y_sm, y_sn,<<strides>>
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    EVEN: tl.constexpr, PRECISION: tl.constexpr,
):
    \"\"\"One tile of the output per program.\"\"\"
    batch, tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    end = K
    <<skip>>
    rows_64, columns_64, ks_64 = rows.to(tl.int64), columns.to(tl.int64), ks.to(tl.int64)
    a_ptrs = a_ptr + batch * a_sb + rows_64[:, None] * a_sm + ks_64[None, :] * a_sk
    b_ptrs = b_ptr + batch * b_sb + ks_64[:, None] * b_sk + columns_64[None, :] * b_sn
    acc = tile_sum(
        a_ptrs, b_ptrs, rows[:, None] < M, columns[None, :] < N, ks, 0, end,
        a_sk * BLOCK_K, b_sk * BLOCK_K, BLOCK_M, BLOCK_N, BLOCK_K, EVEN, PRECISION,
    )
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    <<finish>>


def product(a, b, y<<arguments>>):
    \"\"\"y = a @ b with what follows, for three-dimensional views.\"\"\"
    batch, rows, inner = a.shape
    columns = b.shape[2]
    tiles = batch * triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N)
    even = rows % BLOCK_M == 0 and columns % BLOCK_N == 0 and inner % BLOCK_K == 0
    if tiles > 0:
        product_kernel[(tiles,)](
            a, b, y,<<arguments_in>>
            rows, columns, inner, *a.stride(), *b.stride(), *y.stride(),<<strides_in>>
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP=8, EVEN=even, PRECISION=PRECISION,
            num_warps=WARPS, num_stages=STAGES,
        )
"""

DESCRIBED = """
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def put(
    acc, y_desc, y_ptr,<<pointers>>
    batch, row, column, M, N, y_sb, y_sm, y_sn,<<strides>>
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, Y_DESCRIBED: tl.constexpr,
):
    \"\"\"What follows the product, for a part of a tile that begins at a row and a column; it is stored.\"\"\"
    rows, columns = row + tl.arange(0, HEIGHT), column + tl.arange(0, WIDTH)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    <<result>>
    if Y_DESCRIBED:
        y_desc.store([row, column], result)
    else:
        at = batch * y_sb + rows.to(tl.int64)[:, None] * y_sm + columns.to(tl.int64)[None, :] * y_sn
        tl.store(y_ptr + at, result, mask=inside)


@triton.jit
def described_kernel(
    a_desc, b_desc, y_desc, y_ptr,<<pointers>>
    M, N, K, y_sb, y_sm, y_sn,<<strides>>
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr, A_BY_ROWS: tl.constexpr, B_BY_ROWS: tl.constexpr, Y_DESCRIBED: tl.constexpr,
    FLAT: tl.constexpr, PARTS: tl.constexpr,
):
    \"\"\"Tile after tile per program; blocks come to shared memory by descriptor, with zeros beyond the edges.

    `FLAT`: the next tile's blocks are fetched while this one's result is stored. `PARTS`: a tile's result goes by
    halves, which leaves shared memory for another stage.\"\"\"
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for place in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLAT):
        batch, tile_m, tile_n = tile_of(place, M, N, BLOCK_M, BLOCK_N, GROUP)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            if A_BY_ROWS:
                left = a_desc.load([tile_m * BLOCK_M, k])
            else:
                left = a_desc.load([k, tile_m * BLOCK_M]).T
            if B_BY_ROWS:
                right = b_desc.load([k, tile_n * BLOCK_N])
            else:
                right = b_desc.load([tile_n * BLOCK_N, k]).T
            acc = tl.dot(left, right, acc)
        row, column = tile_m * BLOCK_M, tile_n * BLOCK_N
        if PARTS == 2:
            left, right = tl.split(tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
            put(
                left, y_desc, y_ptr,<<pointers>>
                batch, row, column, M, N, y_sb, y_sm, y_sn,<<strides>>
                BLOCK_M, BLOCK_N // 2, Y_DESCRIBED,
            )
            put(
                right, y_desc, y_ptr,<<pointers>>
                batch, row, column + BLOCK_N // 2, M, N, y_sb, y_sm, y_sn,<<strides>>
                BLOCK_M, BLOCK_N // 2, Y_DESCRIBED,
            )
        else:
            put(
                acc, y_desc, y_ptr,<<pointers>>
                batch, row, column, M, N, y_sb, y_sm, y_sn,<<strides>>
                BLOCK_M, BLOCK_N, Y_DESCRIBED,
            )


def description(x, rows, columns):
    \"\"\"A descriptor of a matrix in blocks of rows and columns, and whether it lies by rows; None in its place where
    rows or columns do not begin at multiples of 16 bytes.\"\"\"
    by_rows = x.stride(1) == 1
    if not by_rows:
        x, rows, columns = x.transpose(0, 1), columns, rows
    pitch = x.stride(0) * x.element_size()
    if x.stride(1) != 1 or x.data_ptr() % 16 or pitch % 16 or x.stride(0) < x.shape[1]:
        return None, by_rows
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [rows, columns]), by_rows


def product(a, b, y<<arguments>>):
    \"\"\"y = a @ b with what follows, for three-dimensional views; by tiles where descriptors cannot be made.\"\"\"
    batch, rows, inner = a.shape
    columns = b.shape[2]
    tiles = triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N)
    a_desc = b_desc = None
    if batch == 1 and tiles > 0 and inner > 0:
        a_desc, a_by_rows = description(a.select(0, 0), BLOCK_M, BLOCK_K)
        b_desc, b_by_rows = description(b.select(0, 0), BLOCK_K, BLOCK_N)
    if a_desc is None or b_desc is None:
        tiled_product(a, b, y<<arguments>>)
        return
    y_desc, y_by_rows = description(y.select(0, 0), BLOCK_M, BLOCK_N // PARTS)
    programs = min(tiles, UNITS)
    described_kernel[(programs,)](
        a_desc, b_desc, y_desc if y_by_rows else None, y,<<arguments_in>>
        rows, columns, inner, *y.stride(),<<strides_in>>
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP=8,
        PROGRAMS=programs, A_BY_ROWS=a_by_rows, B_BY_ROWS=b_by_rows, Y_DESCRIBED=y_by_rows and y_desc is not None,
        FLAT=FLAT, PARTS=PARTS, num_warps=WARPS, num_stages=STAGES,
    )
"""

SPLIT = """
@triton.jit
def partial_kernel(
    a_ptr, b_ptr, part_ptr,
    M, N, K, stretch, part_ss, a_sb, a_sm, a_sk, b_sb, b_sk, b_sn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    EVEN: tl.constexpr, PRECISION: tl.constexpr,
):
    \"\"\"One tile of the output over one stretch of the inner dimension per program, kept in float32.\"\"\"
    batch, tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)
    split = tl.program_id(1).to(tl.int64)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    begin = split * stretch
    end = tl.minimum(begin + stretch, K)
    rows_64, columns_64, ks_64 = rows.to(tl.int64), columns.to(tl.int64), begin + ks.to(tl.int64)
    a_ptrs = a_ptr + batch * a_sb + rows_64[:, None] * a_sm + ks_64[None, :] * a_sk
    b_ptrs = b_ptr + batch * b_sb + ks_64[:, None] * b_sk + columns_64[None, :] * b_sn
    acc = tile_sum(
        a_ptrs, b_ptrs, rows[:, None] < M, columns[None, :] < N, ks, begin, end,
        a_sk * BLOCK_K, b_sk * BLOCK_K, BLOCK_M, BLOCK_N, BLOCK_K, EVEN, PRECISION,
    )
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    part_ptrs = part_ptr + split * part_ss + (batch * M + rows_64[:, None]) * N + columns_64[None, :]
    tl.store(part_ptrs, acc, mask=inside)


@triton.jit
def gather_kernel(
    part_ptr, y_ptr,<<pointers>>
    M, N, splits, part_ss, y_sb, y_sm, y_sn,<<strides>>
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    \"\"\"Adds the stretches' sums in their order, so that every call gives the same bits.\"\"\"
    batch, tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, 1)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    rows_64, columns_64 = rows.to(tl.int64), columns.to(tl.int64)
    part_ptrs = part_ptr + (batch * M + rows_64[:, None]) * N + columns_64[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(splits):
        acc += tl.load(part_ptrs, mask=inside, other=0.0)
        part_ptrs += part_ss
    <<finish>>


def product(a, b, y<<arguments>>):
    \"\"\"y = a @ b with what follows, for three-dimensional views.\"\"\"
    batch, rows, inner = a.shape
    columns = b.shape[2]
    tiles = batch * triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N)
    if tiles == 0:
        return
    stretch = triton.cdiv(triton.cdiv(inner, SPLITS), BLOCK_K) * BLOCK_K
    splits = triton.cdiv(inner, stretch) if stretch > 0 else 0
    even = rows % BLOCK_M == 0 and columns % BLOCK_N == 0 and inner % BLOCK_K == 0
    parts = torch.empty((splits, batch, rows, columns), dtype=torch.float32, device=a.device)
    size = batch * rows * columns
    if splits > 0:
        partial_kernel[(tiles, splits)](
            a, b, parts,
            rows, columns, inner, stretch, size, *a.stride(), *b.stride(),
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP=8, EVEN=even, PRECISION=PRECISION,
            num_warps=WARPS, num_stages=STAGES,
        )
    gather_kernel[(batch * triton.cdiv(rows, 8) * triton.cdiv(columns, 64),)](
        parts, y,<<arguments_in>>
        rows, columns, splits, size, *y.stride(),<<strides_in>>
        BLOCK_M=8, BLOCK_N=64, num_warps=2,
    )
"""

PARTS = """
@triton.jit
def parts_kernel(
    x_ptr, high_ptr, low_ptr, R, K, width, x_sb, x_sr, x_sk,
    BLOCK_R: tl.constexpr, BLOCK_K: tl.constexpr,
):
    \"\"\"x[batch, r, k] = high + low, both exact in TF32 but for low's last bits; zeros from K to `width`.\"\"\"
    tiles_k = tl.cdiv(width, BLOCK_K)
    tiles = tl.cdiv(R, BLOCK_R) * tiles_k
    place = tl.program_id(0)
    batch = (place // tiles).to(tl.int64)
    place = place % tiles
    rows = (place // tiles_k * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
    ks = (place % tiles_k * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    x_ptrs = x_ptr + batch * x_sb + rows[:, None] * x_sr + ks[None, :] * x_sk
    x = tl.load(x_ptrs, mask=(rows[:, None] < R) & (ks[None, :] < K), other=0.0)
    bits = x.to(tl.int32, bitcast=True)
    rounded = ((bits + 0x1000) & -8192).to(tl.float32, bitcast=True)
    high = tl.where(tl.abs(x) < 3.0e38, rounded, x)
    at = (batch * R + rows[:, None]) * width + ks[None, :]
    inside = (rows[:, None] < R) & (ks[None, :] < width)
    tl.store(high_ptr + at, high, mask=inside)
    tl.store(low_ptr + at, x - high, mask=inside)


def parts_of(x):
    \"\"\"The two parts of x [batch, rows, inner], row by row, the inner one padded with zeros to whole blocks.\"\"\"
    batch, rows, inner = x.shape
    width = triton.cdiv(inner, BLOCK_K) * BLOCK_K
    high = torch.empty((batch, rows, width), dtype=torch.float32, device=x.device)
    low = torch.empty_like(high)
    tiles = batch * triton.cdiv(rows, 64) * triton.cdiv(width, 64)
    if tiles > 0:
        parts_kernel[(tiles,)](x, high, low, rows, inner, width, *x.stride(), BLOCK_R=64, BLOCK_K=64, num_warps=8)
    return high, low


@triton.jit
def product_kernel(
    a_high_ptr, a_low_ptr, b_high_ptr, b_low_ptr, y_ptr,<<pointers>>
    M, N, width, y_sb, y_sm, y_sn,<<strides>>
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):
    \"\"\"One tile per program, from operands that were taken apart before: [batch, M, width] and [batch, N, width].

    An infinity's low part is NaN, and so are the sums of small products that meet it: those count as nothing.\"\"\"
    batch, tile_m, tile_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    end = width
    <<skip>>
    rows_64, columns_64 = rows.to(tl.int64), columns.to(tl.int64)
    a_at = (batch * M + rows_64 % M)[:, None] * width + ks[None, :]
    b_at = (batch * N + columns_64 % N)[None, :] * width + ks[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, end, BLOCK_K):
        a_high, a_low = tl.load(a_high_ptr + a_at + k), tl.load(a_low_ptr + a_at + k)
        b_high, b_low = tl.load(b_high_ptr + b_at + k), tl.load(b_low_ptr + b_at + k)
        part = tl.dot(a_low, b_high, input_precision="tf32")
        part = tl.dot(a_high, b_low, part, input_precision="tf32")
        part = tl.where(part == part, part, 0.0)
        acc += tl.dot(a_high, b_high, part, input_precision="tf32")
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    <<finish>>


def product(a, b, y<<arguments>>):
    \"\"\"y = a @ b with what follows, for three-dimensional views.\"\"\"
    batch, rows, inner = a.shape
    columns = b.shape[2]
    tiles = batch * triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N)
    if tiles == 0:
        return
    a_high, a_low = parts_of(a)
    b_high, b_low = parts_of(b.transpose(1, 2))
    product_kernel[(tiles,)](
        a_high, a_low, b_high, b_low, y,<<arguments_in>>
        rows, columns, a_high.shape[2], *y.stride(),<<strides_in>>
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP=8,
        num_warps=WARPS, num_stages=STAGES,
    )
"""

VECTOR = """
@triton.jit
def vector_kernel(
    a_ptr, b_ptr, y_ptr,<<pointers>>
    M, N, K, a_sb, a_sm, a_sk, b_sb, b_sk, b_sn, y_sb, y_sm, y_sn,<<strides>>
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr,
):
    \"\"\"A few rows times one column per program, without tensor cores: the matrix is read once.\"\"\"
    tiles_m = tl.cdiv(M, BLOCK_M)
    place = tl.program_id(0)
    batch = (place // tiles_m // N).to(tl.int64)
    column = place // tiles_m % N
    rows = place % tiles_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, 1)
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + batch * a_sb + rows.to(tl.int64)[:, None] * a_sm + ks.to(tl.int64)[None, :] * a_sk
    b_ptrs = b_ptr + batch * b_sb + column.to(tl.int64) * b_sn + ks.to(tl.int64) * b_sk
    sums = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < K - k), other=0.0).to(tl.float32)
        right = tl.load(b_ptrs, mask=ks < K - k, other=0.0).to(tl.float32)
        sums += left * right[None, :]
        a_ptrs += a_sk * BLOCK_K
        b_ptrs += b_sk * BLOCK_K
    acc = tl.sum(sums, axis=1)[:, None]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    <<finish>>


def product(a, b, y<<arguments>>):
    \"\"\"y = a @ b with what follows, for three-dimensional views.\"\"\"
    batch, rows, inner = a.shape
    columns = b.shape[2]
    programs = batch * columns * triton.cdiv(rows, BLOCK_M)
    if programs > 0:
        vector_kernel[(programs,)](
            a, b, y,<<arguments_in>>
            rows, columns, inner, *a.stride(), *b.stride(), *y.stride(),<<strides_in>>
            BLOCK_M=BLOCK_M, BLOCK_K=BLOCK_K, num_warps=WARPS, num_stages=STAGES,
        )
"""
