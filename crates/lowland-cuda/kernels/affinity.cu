// Entropic affinities of a neighbor graph with k neighbors in every row, and their average with the transpose.

#define AFFINITY_WARPS 4
// Rows of the average with more entries than this are sorted on the processor.
#define LONGEST_ROW 1024

// The b for which the weights exp(-b x) have the given entropy, by one warp: Newton's method in ln b within a bracket, as on the
// processor.
__device__ double precision_of(const double* x, int k, double entropy) {
    const int lane = threadIdx.x & 31;
    double ties = 0.0, next = 1e300;
    for (int at = lane; at < k; at += 32) {
        if (x[at] == 0.0) ties += 1.0;
        else next = fmin(next, x[at]);
    }
    ties = warp_sum(ties);
    for (int gap = 16; gap > 0; gap >>= 1) next = fmin(next, __shfl_xor_sync(FULL_WARP, next, gap));
    if (entropy >= log((double)k)) return 0.0;
    if (entropy <= log(ties)) return fmin(800.0 / next, 1.7e308);
    double low = -1e300, high = 1e300, log_b = 0.0;
    for (int round = 0; round < 200; round++) {
        const double b = exp(log_b);
        double s0 = 0.0, s1 = 0.0, s2 = 0.0;
        for (int at = lane; at < k; at += 32) {
            const double weight = exp(-b * x[at]);
            s0 += weight;
            s1 += weight * x[at];
            s2 += weight * x[at] * x[at];
        }
        s0 = warp_sum(s0);
        s1 = warp_sum(s1);
        s2 = warp_sum(s2);
        const double mean = s1 / s0, excess = log(s0) + b * mean - entropy;
        if (fabs(excess) < 1e-10) break;
        if (excess > 0.0) low = log_b;
        else high = log_b;
        const double slope = -b * b * (s2 / s0 - mean * mean), newton = log_b - excess / slope;
        if (newton > low && newton < high && fabs(newton - log_b) < 4.0) log_b = newton;
        else if (low > -1e300 && high < 1e300) log_b = 0.5 * (low + high);
        else log_b += excess > 0.0 ? 2.0 : -2.0;
    }
    return exp(log_b);
}

// Sorts the neighbors of each row by index and computes their weights, the mean over some entropies; one warp for each row.
// `irregular` is set if a row has itself or another point twice among its neighbors.
extern "C" __global__ void __launch_bounds__(AFFINITY_WARPS * 32) entropic_rows(
    const u32* indices, const float* distances, int n, int k, int capacity, const double* entropies, int entropy_count,
    u32* columns, double* weights, int* irregular
) {
    extern __shared__ u64 memory[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, i = blockIdx.x * AFFINITY_WARPS + warp;
    if (i >= n) return;
    u64* keys = memory + (i64)warp * (capacity + k);
    double* x = (double*)(keys + capacity);
    const i64 first = (i64)i * k;
    float nearest = 3.4e38f, largest = 0.0f;
    for (int at = lane; at < capacity; at += 32) {
        u64 key = ~0ull;
        if (at < k) {
            const float distance = distances[first + at];
            key = ((u64)indices[first + at] << 32) | __float_as_uint(distance);
            nearest = fminf(nearest, distance);
            largest = fmaxf(largest, distance);
        }
        keys[at] = key;
    }
    for (int gap = 16; gap > 0; gap >>= 1) {
        nearest = fminf(nearest, __shfl_xor_sync(FULL_WARP, nearest, gap));
        largest = fmaxf(largest, __shfl_xor_sync(FULL_WARP, largest, gap));
    }
    sort_by_warp(keys, capacity);
    double scale = 0.0;
    for (int at = lane; at < k; at += 32) {
        const u32 column = (u32)(keys[at] >> 32);
        if (column == i || (at > 0 && column == (u32)(keys[at - 1] >> 32))) *irregular = 1;
        columns[first + at] = column;
        // Squares relative to the smallest: nothing overflows at any scale, and one exponent is zero.
        const double d = (double)__uint_as_float((u32)keys[at]);
        x[at] = ((d - (double)nearest) / (double)largest) * ((d + (double)nearest) / (double)largest);
        scale += x[at];
    }
    scale = warp_sum(scale) / k;
    if (!(scale > 0.0)) {
        for (int at = lane; at < k; at += 32) weights[first + at] = 1.0 / k;
        return;
    }
    for (int at = lane; at < k; at += 32) x[at] /= scale;
    __syncwarp();
    for (int which = 0; which < entropy_count; which++) {
        const double b = precision_of(x, k, entropies[which]);
        double total = 0.0;
        for (int at = lane; at < k; at += 32) total += exp(-b * x[at]);
        total = warp_sum(total) * entropy_count;
        for (int at = lane; at < k; at += 32) {
            const double weight = exp(-b * x[at]) / total;
            weights[first + at] = which == 0 ? weight : weights[first + at] + weight;
        }
    }
}

// The place of `wanted` in the sorted row `j`, or -1.
__device__ __forceinline__ i64 find(const u32* columns, int k, u32 j, u32 wanted) {
    i64 low = (i64)j * k, high = low + k;
    while (low < high) {
        const i64 middle = (low + high) >> 1;
        if (columns[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low < ((i64)j + 1) * k && columns[low] == wanted ? low : -1;
}

// Counts, for each point, the rows that have it as a neighbor and are not among its own.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_one_sided(const u32* columns, u64 edges, int k, u32* counts) {
    const u64 e = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (e >= edges) return;
    const u32 i = (u32)(e / k), j = columns[e];
    if (find(columns, k, j, i) < 0) atomicAdd(counts + j, 1u);
}

// Writes the average with the transpose: the neighbors of a row, then the rows that only have it as a neighbor, in any order.
extern "C" __global__ void __launch_bounds__(THREADS) average_with_transpose(
    const u32* columns, const double* weights, u64 edges, int k, const u64* starts, u32* used, u32* out_columns,
    double* out_values
) {
    const u64 e = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (e >= edges) return;
    const u32 i = (u32)(e / k), j = columns[e];
    const i64 mirror = find(columns, k, j, i);
    const u64 place = starts[i] + (e - (u64)i * k);
    out_columns[place] = j;
    out_values[place] = 0.5 * (weights[e] + (mirror < 0 ? 0.0 : weights[mirror]));
    if (mirror < 0) {
        const u64 other = starts[j] + k + atomicAdd(used + j, 1u);
        out_columns[other] = i;
        out_values[other] = 0.5 * weights[e];
    }
}

// Sorts the entries of each row by column, a warp for each row. `capacity` is the size of the largest row that is sorted, rounded
// up to a power of two.
extern "C" __global__ void __launch_bounds__(AFFINITY_WARPS * 32)
    sort_rows(const u64* starts, int n, int k, int capacity, u32* columns, double* values) {
    extern __shared__ u64 memory[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, i = blockIdx.x * AFFINITY_WARPS + warp;
    if (i >= n) return;
    const u64 first = starts[i];
    const u64 length = starts[i + 1] - first;
    if (length <= (u64)k || length > (u64)capacity) return;
    const int count = (int)length;
    u64* keys = memory + (i64)warp * 2 * capacity;
    double* old = (double*)(keys + capacity);
    int size = 32;
    while (size < count) size <<= 1;
    for (int at = lane; at < size; at += 32) {
        keys[at] = at < count ? ((u64)columns[first + at] << 32) | (u32)at : ~0ull;
        if (at < count) old[at] = values[first + at];
    }
    sort_by_warp(keys, size);
    for (int at = lane; at < count; at += 32) {
        columns[first + at] = (u32)(keys[at] >> 32);
        values[first + at] = old[(u32)keys[at]];
    }
}
