// Exact nearest neighbors. A block compares 128 queries with all points, 128 at a time: lower bounds of the squared distances
// from inner products in single precision, of which each query keeps the smallest. The candidates that remain are compared by
// their distances in double precision, computed as on the CPU, so that the neighbors are the same.

#define TILE 128
#define SLICE 8
#define WARPS (THREADS / 32)

// Orders floats as unsigned integers.
__device__ __forceinline__ u32 ordered(float x) {
    const u32 bits = __float_as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float unordered(u32 bits) {
    return __uint_as_float(bits & 0x80000000u ? bits ^ 0x80000000u : ~bits);
}

// Keeps the `kept` smallest of the candidates of a query, in order, by one warp; returns the largest of them, or infinity if
// there are fewer.
__device__ float prune(u64* candidates, int* count, int kept, u64* keys, int capacity) {
    const int lane = threadIdx.x & 31, found = min(*count, capacity);
    for (int at = lane; at < capacity; at += 32) keys[at] = at < found ? candidates[at] : ~0ull;
    sort_by_warp(keys, capacity);
    for (int at = lane; at < kept; at += 32) candidates[at] = keys[at];
    __syncwarp();
    if (lane == 0) *count = min(found, kept);
    return found >= kept ? unordered((u32)(keys[kept - 1] >> 32)) : __int_as_float(0x7f800000);
}

// Rows have `dim` columns, a multiple of SLICE, padded with zeros. `own` says that queries and points are the same rows.
// `candidates` has `capacity` places for each query of the launch, `bounds` the lower bound that all others exceed.
extern "C" __global__ void __launch_bounds__(THREADS, 2) scan_points(
    const float* queries, const float* query_floor, int query_count, int first_query, const float* points,
    const float* point_floor, int point_count, int dim, int own, int kept, int capacity, u64* candidates, int* counts,
    float* bounds
) {
    __shared__ __align__(16) float a[2][SLICE][TILE + 4];
    __shared__ __align__(16) float b[2][SLICE][TILE + 4];
    __shared__ float thresholds[TILE], floors[TILE];
    __shared__ int filled[TILE];
    __shared__ int full;
    extern __shared__ u64 sort_buffers[];
    const int first = first_query + blockIdx.x * TILE;
    u64* mine = candidates + (i64)blockIdx.x * TILE * capacity;
    if (threadIdx.x < TILE) {
        const int q = first + threadIdx.x;
        thresholds[threadIdx.x] = q < query_count ? __int_as_float(0x7f800000) : __int_as_float(0xff800000);
        floors[threadIdx.x] = q < query_count ? query_floor[q] : 0.0f;
        filled[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) full = 0;
    // Threads of a warp cover 4 x 8 of the 16 x 16 register tiles; each has two groups of four rows and columns.
    const int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
    const int load_row = threadIdx.x >> 1, load_column = (threadIdx.x & 1) * 4;
    for (int base = 0; base < point_count; base += TILE) {
        float acc[8][8];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;
        const int query_row = first + load_row, point_row = base + load_row;
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float4 qa = query_row < query_count ? *(const float4*)(queries + (i64)query_row * dim + load_column) : none;
        float4 pb = point_row < point_count ? *(const float4*)(points + (i64)point_row * dim + load_column) : none;
        int buffer = 0;
        for (int from = 0; from < dim; from += SLICE) {
            a[buffer][load_column][load_row] = qa.x;
            a[buffer][load_column + 1][load_row] = qa.y;
            a[buffer][load_column + 2][load_row] = qa.z;
            a[buffer][load_column + 3][load_row] = qa.w;
            b[buffer][load_column][load_row] = pb.x;
            b[buffer][load_column + 1][load_row] = pb.y;
            b[buffer][load_column + 2][load_row] = pb.z;
            b[buffer][load_column + 3][load_row] = pb.w;
            __syncthreads();
            if (from + SLICE < dim) {
                const int column = from + SLICE + load_column;
                if (query_row < query_count) qa = *(const float4*)(queries + (i64)query_row * dim + column);
                if (point_row < point_count) pb = *(const float4*)(points + (i64)point_row * dim + column);
            }
#pragma unroll
            for (int c = 0; c < SLICE; c++) {
                float x[8], z[8];
                *(float4*)x = *(const float4*)&a[buffer][c][ty * 4];
                *(float4*)(x + 4) = *(const float4*)&a[buffer][c][64 + ty * 4];
                *(float4*)z = *(const float4*)&b[buffer][c][tx * 4];
                *(float4*)(z + 4) = *(const float4*)&b[buffer][c][64 + tx * 4];
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) acc[i][j] = fmaf(x[i], z[j], acc[i][j]);
            }
            buffer ^= 1;
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int point = base + (j < 4 ? 0 : 64) + tx * 4 + (j & 3);
            if (point >= point_count) continue;
            const float floor = point_floor[point];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const int row = (i < 4 ? 0 : 64) + ty * 4 + (i & 3);
                const float lower = (floors[row] + floor) - 2.0f * acc[i][j];
                if (lower < thresholds[row] && !(own && first + row == point)) {
                    const int place = atomicAdd(&filled[row], 1);
                    mine[(i64)row * capacity + place] = ((u64)ordered(lower) << 32) | (u32)point;
                    if (place + 1 > capacity - TILE) full = 1;
                }
            }
        }
        __syncthreads();
        if (full) {
            const int warp = threadIdx.x >> 5;
            for (int row = warp; row < TILE; row += WARPS) {
                if (filled[row] <= capacity - TILE) continue;
                const float bound = prune(
                    mine + (i64)row * capacity, &filled[row], kept, sort_buffers + (i64)warp * capacity, capacity
                );
                if ((threadIdx.x & 31) == 0) thresholds[row] = bound;
                __syncwarp();
            }
            __syncthreads();
            if (threadIdx.x == 0) full = 0;
            __syncthreads();
        }
    }
    __syncthreads();
    const int warp = threadIdx.x >> 5;
    for (int row = warp; row < TILE && first + row < query_count; row += WARPS) {
        const float bound =
            prune(mine + (i64)row * capacity, &filled[row], kept, sort_buffers + (i64)warp * capacity, capacity);
        if ((threadIdx.x & 31) == 0) {
            // Without an earlier pruning no point was left out but those beyond the `kept` first.
            bounds[blockIdx.x * TILE + row] = fminf(bound, thresholds[row]);
            counts[blockIdx.x * TILE + row] = filled[row];
        }
        __syncwarp();
    }
}

// Sums over columns in 16 parts, joined pairwise, as on the CPU: without fused products.
struct Lanes {
    double v[16];
    __device__ __forceinline__ Lanes() {
#pragma unroll
        for (int l = 0; l < 16; l++) v[l] = 0.0;
    }
    __device__ __forceinline__ double total() {
#pragma unroll
        for (int width = 8; width > 0; width >>= 1) {
#pragma unroll
            for (int l = 0; l < width; l++) v[l] = __dadd_rn(v[l], v[l + width]);
        }
        return v[0];
    }
};

// The lane of the remaining columns: chunks of 16, then of 8, 4, 2 and 1, each from the first lane on.
template <typename Term>
__device__ __forceinline__ double sum_columns(const float* a, const float* b, int dim, Term term) {
    Lanes lanes;
    int c = 0;
    for (; c + 16 <= dim; c += 16) {
#pragma unroll
        for (int l = 0; l < 16; l++) lanes.v[l] = __dadd_rn(lanes.v[l], term((double)a[c + l], (double)b[c + l]));
    }
#pragma unroll
    for (int width = 8; width > 0; width >>= 1) {
        if (c + width <= dim) {
#pragma unroll
            for (int l = 0; l < width; l++) lanes.v[l] = __dadd_rn(lanes.v[l], term((double)a[c + l], (double)b[c + l]));
            c += width;
        }
    }
    return lanes.total();
}

__device__ double one_minus_cosine(const float* a, const float* b, int dim, double mean_a, double mean_b) {
    const double aa = sum_columns(a, b, dim, [=](double x, double) {
        const double v = __dsub_rn(x, mean_a);
        return __dmul_rn(v, v);
    });
    const double bb = sum_columns(a, b, dim, [=](double, double x) {
        const double v = __dsub_rn(x, mean_b);
        return __dmul_rn(v, v);
    });
    const double ab = sum_columns(a, b, dim, [=](double x, double z) {
        return __dmul_rn(__dsub_rn(x, mean_a), __dsub_rn(z, mean_b));
    });
    if (aa == 0.0 || bb == 0.0) return 1.0;
    const double found = __dsub_rn(1.0, __ddiv_rn(ab, __dsqrt_rn(__dmul_rn(aa, bb))));
    return fmin(fmax(found, 0.0), 2.0);
}

// The distances of the metrics that the search supports.
__device__ double distance(int metric, const float* a, const float* b, int dim) {
    if (metric == 0) {
        return __dsqrt_rn(sum_columns(a, b, dim, [](double x, double z) {
            const double v = __dsub_rn(x, z);
            return __dmul_rn(v, v);
        }));
    }
    if (metric == 1) return one_minus_cosine(a, b, dim, 0.0, 0.0);
    const double mean_a = __ddiv_rn(sum_columns(a, b, dim, [](double x, double) { return x; }), (double)dim);
    const double mean_b = __ddiv_rn(sum_columns(a, b, dim, [](double, double z) { return z; }), (double)dim);
    return one_minus_cosine(a, b, dim, mean_a, mean_b);
}

// Sorts the candidates of each query by their distances, a warp for each, and writes the `k` nearest. `uncertain` is set where
// a point that was left out may be as near: its bound does not exceed the `k`-th upper bound.
extern "C" __global__ void __launch_bounds__(THREADS) rank_candidates(
    const float* queries, int query_count, int first_query, const float* points, int dim, int metric, const float* query_margin,
    const float* point_margin, int k, int capacity, const u64* candidates, const int* counts, const float* bounds, int launch,
    u32* indices, float* distances, u32* uncertain
) {
    extern __shared__ u64 sort_buffers[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int at = blockIdx.x * WARPS + warp;
    const int query = first_query + at;
    if (at >= launch || query >= query_count) return;
    u64* keys = sort_buffers + (i64)warp * capacity;
    const u64* mine = candidates + (i64)at * capacity;
    const int count = counts[at];
    // The k-th smallest upper bound is at most the largest of those of the k smallest lower bounds.
    float upper = -1e30f;
    for (int c = lane; c < k; c += 32) {
        if (c >= count) continue;
        const u64 key = mine[c];
        const float slack = 2.0f * (query_margin[query] + point_margin[(u32)key]);
        upper = fmaxf(upper, unordered((u32)(key >> 32)) + slack);
    }
#pragma unroll
    for (int gap = 16; gap > 0; gap >>= 1) upper = fmaxf(upper, __shfl_xor_sync(FULL_WARP, upper, gap));
    for (int c = lane; c < capacity; c += 32) {
        u64 key = ~0ull;
        if (c < count) {
            const u32 j = (u32)mine[c];
            const float found = (float)distance(metric, queries + (i64)query * dim, points + (i64)j * dim, dim);
            key = ((u64)ordered(found) << 32) | j;
        }
        keys[c] = key;
    }
    sort_by_warp(keys, capacity);
    for (int c = lane; c < k; c += 32) {
        const u64 key = keys[c];
        indices[(i64)at * k + c] = (u32)key;
        distances[(i64)at * k + c] = unordered((u32)(key >> 32));
    }
    if (lane == 0) uncertain[at] = count < k || !(bounds[at] > upper);
}
