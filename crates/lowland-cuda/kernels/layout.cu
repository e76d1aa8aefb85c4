// The layout of a fuzzy graph by stochastic gradient descent with sampled repulsion, as umap-learn's, for maps of any dimension.
// Random numbers are counted by epoch, point and draw, so that they do not depend on the order of execution.

// A step is bounded in each component, before it is multiplied by the learning rate.
#define MAX_STEP 4.0f
// Keeps the repulsion of close points finite.
#define MIN_SQUARE 1e-3f
#define MAX_DIM 64

__device__ __forceinline__ u64 mix(u64 x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// A number below n, the draw of this number.
__device__ __forceinline__ u32 draw(u64 seed, u64 number, u32 n) {
    return (u32)(((mix(seed + number * 0xd1342543de82ef95ull) >> 32) * (u64)n) >> 32);
}

__device__ __forceinline__ float power_of(float x, float b) { return exp2f(b * log2f(fmaxf(x, 1.17549435e-38f))); }

// How often an edge of this rate attracts in an epoch.
__device__ __forceinline__ int attractions(float rate, int epoch) {
    return (int)((float)(epoch + 1) * rate) - (int)((float)epoch * rate);
}

// Moves the points of a group: those whose number is `group` modulo `groups`. They see where the groups before them are now.
template <int DIM>
__device__ __forceinline__ void move_points(
    const u64* starts, const u32* columns, const float* rates, const float* y, int n, int runtime_dim, int group, int groups,
    int epoch, u64 seed, float a, float b, float strength, float rate, int samples, float* moved
) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const i64 i = (i64)at * groups + group;
    if (i >= n) return;
    const int dim = DIM ? DIM : runtime_dim;
    float p[DIM ? DIM : MAX_DIM];
#pragma unroll
    for (int c = 0; c < dim; c++) p[c] = y[i * dim + c];
    const u64 own = mix(seed ^ mix((u64)epoch << 32 | (u64)i));
    u64 drawn = 0;
    for (u64 e = starts[i]; e < starts[i + 1]; e++) {
        const int count = attractions(rates[e], epoch);
        for (int repeat = 0; repeat < count; repeat++) {
            const float* other = y + (i64)columns[e] * dim;
            float squared = 0.0f;
#pragma unroll
            for (int c = 0; c < dim; c++) squared += (p[c] - other[c]) * (p[c] - other[c]);
            float factor = 0.0f;
            if (squared > 0.0f) {
                const float power = power_of(squared, b);
                // Not beyond the other point: twice the rate, since an edge is there in both directions and moves both ends.
                factor = fminf(2.0f * a * b * power / (squared * (1.0f + a * power)), 1.0f / (2.0f * rate));
            }
#pragma unroll
            for (int c = 0; c < dim; c++) {
                const float step = -factor * (p[c] - other[c]);
                p[c] += 2.0f * rate * fminf(fmaxf(step, -MAX_STEP), MAX_STEP);
            }
            for (int s = 0; s < samples; s++) {
                const float* far = y + (i64)draw(own, drawn++, (u32)n) * dim;
                squared = 0.0f;
#pragma unroll
                for (int c = 0; c < dim; c++) squared += (p[c] - far[c]) * (p[c] - far[c]);
                if (!(squared > 0.0f)) continue;
                const float push = 2.0f * strength * b / ((MIN_SQUARE + squared) * (1.0f + a * power_of(squared, b)));
#pragma unroll
                for (int c = 0; c < dim; c++) {
                    p[c] += rate * fminf(fmaxf(push * (p[c] - far[c]), -MAX_STEP), MAX_STEP);
                }
            }
        }
    }
#pragma unroll
    for (int c = 0; c < dim; c++) moved[(i64)at * dim + c] = p[c];
}

#define MOVE(NAME, DIM) \
    extern "C" __global__ void __launch_bounds__(128) NAME( \
        const u64* starts, const u32* columns, const float* rates, const float* y, int n, int dim, int group, int groups, \
        int epoch, u64 seed, float a, float b, float strength, float rate, int samples, float* moved \
    ) { \
        move_points<DIM>( \
            starts, columns, rates, y, n, dim, group, groups, epoch, seed, a, b, strength, rate, samples, moved \
        ); \
    }
MOVE(move_2, 2)
MOVE(move_3, 3)
MOVE(move_any, 0)

// Writes the new places of a group.
extern "C" __global__ void __launch_bounds__(THREADS)
    keep_moves(const float* moved, int n, int dim, int group, int groups, float* y) {
    const i64 at = (i64)blockIdx.x * THREADS + threadIdx.x;
    const i64 i = at / dim * groups + group;
    if (i < n) y[i * dim + at % dim] = moved[at];
}

// The loss at every `every`-th point, one block each: its attraction, and its repulsion estimated by draws.
extern "C" __global__ void __launch_bounds__(32) sample_loss(
    const u64* starts, const u32* columns, const float* rates, const float* y, int n, int dim, int every, u64 seed, float a,
    float b, float strength, int samples, int draws, double* out
) {
    const i64 i = (i64)blockIdx.x * every;
    double attraction = 0.0, degree = 0.0, repulsion = 0.0;
    for (u64 e = starts[i] + threadIdx.x; e < starts[i + 1]; e += 32) {
        float squared = 0.0f;
        for (int c = 0; c < dim; c++) {
            const float d = y[i * dim + c] - y[(i64)columns[e] * dim + c];
            squared += d * d;
        }
        attraction += (double)rates[e] * (double)log1pf(a * power_of(squared, b));
        degree += (double)rates[e];
    }
    for (int s = threadIdx.x; s < draws; s += 32) {
        const i64 j = draw(mix(seed ^ (u64)i), s, (u32)n);
        if (j == i) continue;
        float squared = 0.0f;
        for (int c = 0; c < dim; c++) {
            const float d = y[i * dim + c] - y[j * dim + c];
            squared += d * d;
        }
        const float x = a * power_of(squared, b);
        repulsion += (double)(strength * logf((1.0f + x) / (MIN_SQUARE + x)));
    }
    attraction = warp_sum(attraction);
    degree = warp_sum(degree);
    repulsion = warp_sum(repulsion);
    if (threadIdx.x == 0) out[blockIdx.x] = attraction + degree * samples * repulsion / draws;
}
