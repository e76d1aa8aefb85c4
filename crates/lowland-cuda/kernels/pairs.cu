// The layout of pairs of points by the Adam optimizer, as PaCMAP's and LocalMAP's, for maps of any dimension. Losses are functions of
// d = 1 + |y_i - y_j|^2. Every pair is there from both ends, so that a point adds up its own gradient.

#define MAX_DIM 64
// Where the attraction of near and of mid-near pairs levels off.
#define NEAR_SCALE 10.0f
#define MID_SCALE 10000.0f
// Decay of the mean and of the mean square of the gradient, and what is added to the root of the latter.
#define DECAY_MEAN 0.9f
#define DECAY_SQUARE 0.999f
#define EPSILON 1e-7f

struct Attraction {
    float weight, scale;
    __device__ __forceinline__ float factor(float d) const {
        const float inverse = 1.0f / (scale + d);
        return 2.0f * weight * scale * (inverse * inverse);
    }
    __device__ __forceinline__ double loss(double d) const { return (double)weight * d / ((double)scale + d); }
};

// The attraction of near pairs in the final phase of LocalMAP.
struct LocalAttraction {
    float weight, threshold;
    __device__ __forceinline__ float factor(float d) const {
        return Attraction{weight, NEAR_SCALE}.factor(d) * (0.5f * threshold / sqrtf(d));
    }
    __device__ __forceinline__ double loss(double d) const {
        const double root = sqrt(d), scale = (double)NEAR_SCALE, side = sqrt(scale);
        return 0.5 * (double)weight * (double)threshold * (root / (scale + d) + atan(root / side) / side);
    }
};

struct Repulsion {
    float weight;
    __device__ __forceinline__ float factor(float d) const {
        const float inverse = 1.0f / (1.0f + d);
        return -2.0f * weight * (inverse * inverse);
    }
    __device__ __forceinline__ double loss(double d) const { return (double)weight / (1.0 + d); }
};

// Adds this lane's share of the gradient by point i of its pairs of one kind.
template <int DIM, typename Loss>
__device__ __forceinline__ void add_gradient(
    const u64* starts, const u32* ends, const float* y, i64 i, int dim, const float* p, Loss loss, float* gradient
) {
    for (u64 e = starts[i] + (threadIdx.x & 31); e < starts[i + 1]; e += 32) {
        const float* other = y + (i64)ends[e] * dim;
        float d = 1.0f;
#pragma unroll
        for (int c = 0; c < dim; c++) d += (p[c] - other[c]) * (p[c] - other[c]);
        const float factor = loss.factor(d);
#pragma unroll
        for (int c = 0; c < dim; c++) gradient[c] += factor * (p[c] - other[c]);
    }
}

// Moves every point once, one warp each. `threshold` is zero outside of LocalMAP's final phase.
template <int DIM>
__device__ __forceinline__ void move_points(
    const u64* near_starts, const u32* near_ends, const u64* mid_starts, const u32* mid_ends, const u64* further_starts,
    const u32* further_ends, const float* y, int n, int runtime_dim, float near, float threshold, float mid, float further,
    float rate, float* means, float* squares, float* moved
) {
    const i64 i = (i64)blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    if (i >= n) return;
    const int dim = DIM ? DIM : runtime_dim, lane = threadIdx.x & 31;
    float p[DIM ? DIM : MAX_DIM], gradient[DIM ? DIM : MAX_DIM];
#pragma unroll
    for (int c = 0; c < dim; c++) {
        p[c] = y[i * dim + c];
        gradient[c] = 0.0f;
    }
    if (threshold > 0.0f) {
        add_gradient<DIM>(near_starts, near_ends, y, i, dim, p, LocalAttraction{near, threshold}, gradient);
    } else {
        add_gradient<DIM>(near_starts, near_ends, y, i, dim, p, Attraction{near, NEAR_SCALE}, gradient);
    }
    if (mid > 0.0f) add_gradient<DIM>(mid_starts, mid_ends, y, i, dim, p, Attraction{mid, MID_SCALE}, gradient);
    add_gradient<DIM>(further_starts, further_ends, y, i, dim, p, Repulsion{further}, gradient);
#pragma unroll
    for (int c = 0; c < dim; c++) {
        const float g = warp_sum(gradient[c]);
        if (lane == (c & 31)) {
            const i64 at = i * dim + c;
            const float mean = means[at] + (1.0f - DECAY_MEAN) * (g - means[at]);
            const float square = squares[at] + (1.0f - DECAY_SQUARE) * (g * g - squares[at]);
            means[at] = mean;
            squares[at] = square;
            moved[at] = p[c] - rate * mean / (sqrtf(square) + EPSILON);
        }
    }
}

#define MOVE(NAME, DIM) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME( \
        const u64* near_starts, const u32* near_ends, const u64* mid_starts, const u32* mid_ends, const u64* further_starts, \
        const u32* further_ends, const float* y, int n, int dim, float near, float threshold, float mid, float further, \
        float rate, float* means, float* squares, float* moved \
    ) { \
        move_points<DIM>( \
            near_starts, near_ends, mid_starts, mid_ends, further_starts, further_ends, y, n, dim, near, threshold, mid, \
            further, rate, means, squares, moved \
        ); \
    }
MOVE(move_2, 2)
MOVE(move_3, 3)
MOVE(move_any, 0)

// This lane's share of the loss of point i's pairs of one kind.
template <typename Loss>
__device__ __forceinline__ double
    loss_of(const u64* starts, const u32* ends, const float* y, i64 i, int dim, Loss loss) {
    double sum = 0.0;
    for (u64 e = starts[i] + threadIdx.x; e < starts[i + 1]; e += 32) {
        float d = 1.0f;
        for (int c = 0; c < dim; c++) {
            const float difference = y[i * dim + c] - y[(i64)ends[e] * dim + c];
            d += difference * difference;
        }
        sum += loss.loss((double)d);
    }
    return sum;
}

// The loss at every `every`-th point, one warp each.
extern "C" __global__ void __launch_bounds__(32) sample_loss(
    const u64* near_starts, const u32* near_ends, const u64* mid_starts, const u32* mid_ends, const u64* further_starts,
    const u32* further_ends, const float* y, int dim, int every, float near, float threshold, float mid, float further,
    double* out
) {
    const i64 i = (i64)blockIdx.x * every;
    double sum = threshold > 0.0f
        ? loss_of(near_starts, near_ends, y, i, dim, LocalAttraction{near, threshold})
        : loss_of(near_starts, near_ends, y, i, dim, Attraction{near, NEAR_SCALE});
    sum += loss_of(mid_starts, mid_ends, y, i, dim, Attraction{mid, MID_SCALE});
    sum += loss_of(further_starts, further_ends, y, i, dim, Repulsion{further});
    sum = warp_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
