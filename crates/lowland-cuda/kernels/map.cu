// Gradients of neighbor embeddings and steps of descent, for maps of DIM dimensions (a macro). Positions are rows of DIM
// floats; a map of fewer dimensions is padded with zeros.

// Scalars of a map, in double precision.
#define TOTAL 0       // sum of the kernel over ordered pairs of different points
#define ATTRACTION 1  // attractive part of the value
#define SIZE 2        // squared length of the map
#define MOVED 3       // squared length of the last step
#define SUMS 4        // sums of the coordinates, DIM numbers

// The kernels of the repulsion, as functions of the squared distance.
enum Kernel { GAUSSIAN = 0, CAUCHY_1 = 1, CAUCHY_2 = 2, CAUCHY = 3 };

// Value and derivative of a kernel, the latter without its constant factor.
template <int KERNEL>
__device__ __forceinline__ void evaluate(float squared, float power, float& value, float& slope) {
    if (KERNEL == GAUSSIAN) {
        value = slope = exp2f(-1.44269504f * squared);
    } else {
        const float q = reciprocal(1.0f + squared);
        if (KERNEL == CAUCHY_1) {
            value = q;
            slope = q * q;
        } else if (KERNEL == CAUCHY_2) {
            value = q * q;
            slope = value * q;
        } else {
            value = exp2f(-power * log2f(1.0f + squared));
            slope = value * q;
        }
    }
}

// Number of targets of a thread.
#if DIM <= 3
#define TARGETS 4
#elif DIM <= 10
#define TARGETS 2
#else
#define TARGETS 1
#endif

template <int KERNEL, bool CHECK>
__device__ __forceinline__ void add_tile(
    const float* tile, int count, int base, int first, float power, const float (&t)[TARGETS][DIM],
    float (&force)[TARGETS][DIM], float (&sum)[TARGETS]
) {
    for (int j = 0; j < count; j++) {
        float s[DIM];
#pragma unroll
        for (int c = 0; c < DIM; c++) s[c] = tile[j * DIM + c];
#pragma unroll
        for (int r = 0; r < TARGETS; r++) {
            if (CHECK && base + j == first + r * THREADS + (int)threadIdx.x) continue;
            float d[DIM], squared = 0.0f, value, slope;
#pragma unroll
            for (int c = 0; c < DIM; c++) {
                d[c] = t[r][c] - s[c];
                squared = fmaf(d[c], d[c], squared);
            }
            evaluate<KERNEL>(squared, power, value, slope);
            sum[r] += value;
#pragma unroll
            for (int c = 0; c < DIM; c++) force[r][c] = fmaf(slope, d[c], force[r][c]);
        }
    }
}

// Sums over all other points: the kernel, and its derivative times the way from them. Block (x, y) sums the sources of chunk y
// for its targets; `partial` has a row of 1 + DIM numbers for every chunk and point.
template <int KERNEL>
__device__ __forceinline__ void exact_sums(const float* y, int n, int chunk, float unit, float power, float* partial) {
    __shared__ __align__(16) float tile[THREADS * DIM];
    const int first = blockIdx.x * THREADS * TARGETS;
    float t[TARGETS][DIM], force[TARGETS][DIM], sum[TARGETS];
#pragma unroll
    for (int r = 0; r < TARGETS; r++) {
        const int i = first + r * THREADS + threadIdx.x;
        sum[r] = 0.0f;
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            t[r][c] = i < n ? unit * y[(i64)i * DIM + c] : 0.0f;
            force[r][c] = 0.0f;
        }
    }
    const int begin = blockIdx.y * chunk;
    const int end = min(n, begin + chunk);
    for (int base = begin; base < end; base += THREADS) {
        const int count = min(THREADS, end - base);
        __syncthreads();
        for (int at = threadIdx.x; at < count * DIM; at += THREADS) tile[at] = unit * y[(i64)base * DIM + at];
        __syncthreads();
        const bool own = base < first + THREADS * TARGETS && base + THREADS > first;
        if (own) {
            add_tile<KERNEL, true>(tile, count, base, first, power, t, force, sum);
        } else {
            add_tile<KERNEL, false>(tile, count, base, first, power, t, force, sum);
        }
    }
#pragma unroll
    for (int r = 0; r < TARGETS; r++) {
        const int i = first + r * THREADS + threadIdx.x;
        if (i >= n) continue;
        float* out = partial + ((i64)blockIdx.y * n + i) * (DIM + 1);
        out[0] = sum[r];
#pragma unroll
        for (int c = 0; c < DIM; c++) out[1 + c] = force[r][c];
    }
}

#define EXACT(NAME, KERNEL) \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        NAME(const float* y, int n, int chunk, float unit, float power, float* partial) { \
        exact_sums<KERNEL>(y, n, chunk, unit, power, partial); \
    }
EXACT(exact_gaussian, GAUSSIAN)
EXACT(exact_cauchy_1, CAUCHY_1)
EXACT(exact_cauchy_2, CAUCHY_2)
EXACT(exact_cauchy, CAUCHY)

// Adds the chunks of `exact_sums` in order; `sums` receives the kernel sums of the points of a block.
extern "C" __global__ void __launch_bounds__(THREADS)
    add_chunks(const float* partial, int n, int chunks, float* force, double* sums) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    double sum = 0.0;
    if (i < n) {
        float total[DIM];
#pragma unroll
        for (int c = 0; c < DIM; c++) total[c] = 0.0f;
        for (int part = 0; part < chunks; part++) {
            const float* row = partial + ((i64)part * n + i) * (DIM + 1);
            sum += (double)row[0];
#pragma unroll
            for (int c = 0; c < DIM; c++) total[c] += row[1 + c];
        }
#pragma unroll
        for (int c = 0; c < DIM; c++) force[(i64)i * DIM + c] = total[c];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Exact sums at a few points, one block each: the kernel and its derivative times the way.
template <int KERNEL>
__device__ __forceinline__ void sample_sums(
    const float* y, int n, const u32* sample, float unit, float power, double* out
) {
    const int i = sample[blockIdx.x];
    float t[DIM];
    double sums[DIM + 1];
#pragma unroll
    for (int c = 0; c < DIM; c++) t[c] = unit * y[(i64)i * DIM + c];
#pragma unroll
    for (int c = 0; c <= DIM; c++) sums[c] = 0.0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        if (j == i) continue;
        float d[DIM], squared = 0.0f, value, slope;
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            d[c] = t[c] - unit * y[(i64)j * DIM + c];
            squared = fmaf(d[c], d[c], squared);
        }
        evaluate<KERNEL>(squared, power, value, slope);
        sums[0] += (double)value;
#pragma unroll
        for (int c = 0; c < DIM; c++) sums[1 + c] += (double)(slope * d[c]);
    }
    for (int c = 0; c <= DIM; c++) {
        const double total = block_sum(sums[c]);
        if (threadIdx.x == 0) out[(i64)blockIdx.x * (DIM + 1) + c] = total;
    }
}

#define SAMPLE(NAME, KERNEL) \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        NAME(const float* y, int n, const u32* sample, float unit, float power, double* out) { \
        sample_sums<KERNEL>(y, n, sample, unit, power, out); \
    }
SAMPLE(sample_gaussian, GAUSSIAN)
SAMPLE(sample_cauchy_1, CAUCHY_1)
SAMPLE(sample_cauchy_2, CAUCHY_2)
SAMPLE(sample_cauchy, CAUCHY)

// Adds rows of `width` numbers in a fixed order to scalars. One block.
extern "C" __global__ void add_rows(const double* rows, int count, int width, double offset, double* out) {
    for (int c = 0; c < width; c++) {
        double sum = 0.0;
        for (int row = threadIdx.x; row < count; row += blockDim.x) sum += rows[(i64)row * width + c];
        sum = block_sum(sum);
        if (threadIdx.x == 0) out[c] = sum + offset;
    }
}

// The gradient: attraction along the edges of a point, one warp for each, plus its repulsion. An edge of squared length s pulls
// with f(s) = s, or f(s) = (a + 1)/2 ln(1 + s/a) for a degrees of freedom.
template <bool STUDENT, bool VALUE>
__device__ __forceinline__ void gradient_of_rows(
    const u64* starts, const u32* columns, const float* weights, const float* y, const float* force, const double* scalars,
    int n, float inverse_dof, float attraction, double repulsion, int normalized, float* gradient, double* values
) {
    const int i = blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    double value = 0.0;
    if (i < n) {
        float own[DIM], pull[DIM];
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            own[c] = y[(i64)i * DIM + c];
            pull[c] = 0.0f;
        }
        for (u64 at = starts[i] + lane; at < starts[i + 1]; at += 32) {
            const float* other = y + (i64)columns[at] * DIM;
            const float weight = weights[at];
            float d[DIM], squared = 0.0f;
#pragma unroll
            for (int c = 0; c < DIM; c++) {
                d[c] = own[c] - other[c];
                squared = fmaf(d[c], d[c], squared);
            }
            float factor = weight;
            if (STUDENT) {
                factor = weight * reciprocal(1.0f + squared * inverse_dof);
                if (VALUE) value += (double)(weight * log1pf(squared * inverse_dof));
            } else if (VALUE) {
                value += (double)(weight * squared);
            }
#pragma unroll
            for (int c = 0; c < DIM; c++) pull[c] = fmaf(factor, d[c], pull[c]);
        }
#pragma unroll
        for (int c = 0; c < DIM; c++) pull[c] = warp_sum(pull[c]);
        const float strength = (float)(normalized ? repulsion / scalars[TOTAL] : repulsion);
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            if (lane == c % 32) gradient[(i64)i * DIM + c] = attraction * pull[c] + strength * force[(i64)i * DIM + c];
        }
    }
    if (VALUE) {
        value = block_sum(value);
        if (threadIdx.x == 0) values[blockIdx.x] = value;
    }
}

#define GRADIENT(NAME, STUDENT, VALUE) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME( \
        const u64* starts, const u32* columns, const float* weights, const float* y, const float* force, \
        const double* scalars, int n, float inverse_dof, float attraction, double repulsion, int normalized, \
        float* gradient, double* values \
    ) { \
        gradient_of_rows<STUDENT, VALUE>( \
            starts, columns, weights, y, force, scalars, n, inverse_dof, attraction, repulsion, normalized, gradient, \
            values \
        ); \
    }
GRADIENT(gradient_student, true, false)
GRADIENT(gradient_student_value, true, true)
GRADIENT(gradient_quadratic, false, false)
GRADIENT(gradient_quadratic_value, false, true)

// A step of gradient descent with momentum and a gain for each coordinate. `sums` receives, for each block, the squared length of
// the step and the sums of the new coordinates.
extern "C" __global__ void __launch_bounds__(THREADS) gain_step(
    float* y, float* update, float* gains, const float* gradient, const double* scalars, int n, float rate, float momentum,
    float min_gain, float max_step, float max_relative_step, double* sums
) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (max_relative_step > 0.0f) {
        const double typical = sqrt(scalars[SIZE] / n);
        max_step = fminf(max_step, fmaxf((float)(max_relative_step * typical), 1e-30f));
    }
    double moved = 0.0, sum[DIM];
#pragma unroll
    for (int c = 0; c < DIM; c++) {
        sum[c] = 0.0;
        if (i >= n) continue;
        const i64 at = (i64)i * DIM + c;
        const float g = gradient[at], last = update[at];
        // A step is against the gradient: while the gradient's sign persists, the two signs differ.
        const float gain = fmaxf(last * g < 0.0f ? gains[at] + 0.2f : gains[at] * 0.8f, min_gain);
        const float step = fminf(fmaxf(momentum * last - rate * gain * g, -max_step), max_step);
        const float place = y[at] + step;
        gains[at] = gain;
        update[at] = step;
        y[at] = place;
        moved += (double)step * (double)step;
        sum[c] = (double)place;
    }
    moved = block_sum(moved);
    if (threadIdx.x == 0) sums[(i64)blockIdx.x * (DIM + 1)] = moved;
#pragma unroll
    for (int c = 0; c < DIM; c++) {
        const double total = block_sum(sum[c]);
        if (threadIdx.x == 0) sums[(i64)blockIdx.x * (DIM + 1) + 1 + c] = total;
    }
}

// A step with momentum. `sums` is as in `gain_step`.
extern "C" __global__ void __launch_bounds__(THREADS) momentum_step(
    float* y, float* update, const float* field, int n, float rate, float momentum, float max_step, double* sums
) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    double moved = 0.0;
    if (i < n) {
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            const i64 at = (i64)i * DIM + c;
            const float step = fminf(fmaxf(momentum * update[at] - rate * field[at], -max_step), max_step);
            update[at] = step;
            y[at] += step;
            moved += (double)step * (double)step;
        }
    }
    moved = block_sum(moved);
    if (threadIdx.x == 0) {
        sums[(i64)blockIdx.x * (DIM + 1)] = moved;
        for (int c = 0; c < DIM; c++) sums[(i64)blockIdx.x * (DIM + 1) + 1 + c] = 0.0;
    }
}

// Moves the mean to the origin if `center` is set. `sums` receives the squared length of the points of a block, `bounds` the
// negated minimum and the maximum of their first three coordinates.
extern "C" __global__ void __launch_bounds__(THREADS)
    center_and_measure(float* y, const double* scalars, int n, int center, double* sums, float* bounds) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const float none = __int_as_float(0xff800000);
    double squares = 0.0;
    float extremes[6] = {none, none, none, none, none, none};
    if (i < n) {
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            const i64 at = (i64)i * DIM + c;
            float place = y[at];
            if (center) {
                place = (float)((double)place - scalars[SUMS + c] / n);
                y[at] = place;
            }
            squares += (double)place * (double)place;
            if (c < 3) {
                extremes[2 * (c < 3 ? c : 0)] = -place;
                extremes[2 * (c < 3 ? c : 0) + 1] = place;
            }
        }
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) sums[blockIdx.x] = squares;
    for (int c = 0; c < 2 * (DIM < 3 ? DIM : 3); c++) {
        const float most = block_max(extremes[c]);
        if (threadIdx.x == 0) bounds[(i64)blockIdx.x * 6 + c] = most;
    }
}

// The maxima of the columns of `bounds`. One block.
extern "C" __global__ void join_bounds(const float* bounds, int count, double* out) {
    for (int c = 0; c < 2 * (DIM < 3 ? DIM : 3); c++) {
        float most = __int_as_float(0xff800000);
        for (int row = threadIdx.x; row < count; row += blockDim.x) most = fmaxf(most, bounds[(i64)row * 6 + c]);
        most = block_max(most);
        if (threadIdx.x == 0) out[c] = (double)most;
    }
}

// Similarity of two points and the negative of its derivative, as functions of the squared distance.
template <bool STUDENT>
__device__ __forceinline__ void similarity(float squared, float& value, float& slope) {
    value = STUDENT ? reciprocal(1.0f + squared) : exp2f(-1.44269504f * squared);
    slope = STUDENT ? value * value : value;
}

// The sum of the similarities over the edges of each point, one warp for each.
template <bool STUDENT>
__device__ __forceinline__ void marginals_of_rows(
    const u64* starts, const u32* columns, const float* y, int n, float* marginals
) {
    const int i = blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    if (i >= n) return;
    float sum = 0.0f;
    for (u64 at = starts[i] + (threadIdx.x & 31); at < starts[i + 1]; at += 32) {
        float squared = 0.0f, value, slope;
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            const float d = y[(i64)i * DIM + c] - y[(i64)columns[at] * DIM + c];
            squared = fmaf(d, d, squared);
        }
        similarity<STUDENT>(squared, value, slope);
        sum += value;
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) marginals[i] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    marginals_student(const u64* starts, const u32* columns, const float* y, int n, float* marginals) {
    marginals_of_rows<true>(starts, columns, y, n, marginals);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    marginals_gaussian(const u64* starts, const u32* columns, const float* y, int n, float* marginals) {
    marginals_of_rows<false>(starts, columns, y, n, marginals);
}

// The part of MAP IT's field that is a sum over edges, one warp for each point: attraction in the first DIM numbers of `sums`,
// repulsion in the others. `values` receives the sum of the weighted similarities of a block.
template <bool STUDENT>
__device__ __forceinline__ void field_of_rows(
    const u64* near_starts, const u32* near_columns, const float* near_weights, const u64* far_starts, const u32* far_columns,
    const float* far_weights, const float* marginals, const float* map_marginals, const float* y, int n, float* sums,
    double* values
) {
    const int i = blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    double total = 0.0;
    if (i < n) {
        float own[DIM], pull[DIM], push[DIM];
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            own[c] = y[(i64)i * DIM + c];
            pull[c] = push[c] = 0.0f;
        }
        for (u64 at = near_starts[i] + lane; at < near_starts[i + 1]; at += 32) {
            const u32 j = near_columns[at];
            float d[DIM], squared = 0.0f, value, slope;
#pragma unroll
            for (int c = 0; c < DIM; c++) {
                d[c] = own[c] - y[(i64)j * DIM + c];
                squared = fmaf(d[c], d[c], squared);
            }
            similarity<STUDENT>(squared, value, slope);
            total += (double)(near_weights[at] * value);
            const float attraction = marginals[j] * slope, repulsion = (value - map_marginals[j]) * slope;
#pragma unroll
            for (int c = 0; c < DIM; c++) {
                pull[c] = fmaf(attraction, d[c], pull[c]);
                push[c] = fmaf(repulsion, d[c], push[c]);
            }
        }
        for (u64 at = far_starts[i] + lane; at < far_starts[i + 1]; at += 32) {
            const u32 j = far_columns[at];
            float d[DIM], squared = 0.0f, value, slope;
#pragma unroll
            for (int c = 0; c < DIM; c++) {
                d[c] = own[c] - y[(i64)j * DIM + c];
                squared = fmaf(d[c], d[c], squared);
            }
            similarity<STUDENT>(squared, value, slope);
            total += (double)(far_weights[at] * value);
            const float attraction = far_weights[at] * slope;
#pragma unroll
            for (int c = 0; c < DIM; c++) pull[c] = fmaf(attraction, d[c], pull[c]);
        }
#pragma unroll
        for (int c = 0; c < DIM; c++) {
            pull[c] = warp_sum(pull[c]);
            push[c] = warp_sum(push[c]);
            if (lane == c % 32) {
                sums[(i64)i * 2 * DIM + c] = pull[c];
                sums[(i64)i * 2 * DIM + DIM + c] = push[c];
            }
        }
    }
    total = block_sum(total);
    if (threadIdx.x == 0) values[blockIdx.x] = total;
}

#define FIELD(NAME, STUDENT) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME( \
        const u64* near_starts, const u32* near_columns, const float* near_weights, const u64* far_starts, \
        const u32* far_columns, const float* far_weights, const float* marginals, const float* map_marginals, const float* y, \
        int n, float* sums, double* values \
    ) { \
        field_of_rows<STUDENT>( \
            near_starts, near_columns, near_weights, far_starts, far_columns, far_weights, marginals, map_marginals, y, n, sums, \
            values \
        ); \
    }
FIELD(field_student, true)
FIELD(field_gaussian, false)

// MAP IT's field: the sums over edges divided by the entropy weights, and the repulsion of all pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
    combine_field(const float* sums, const float* force, const double* scalars, int n, double repulsion, float* field) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const double c1 = fmax(scalars[ATTRACTION], 1e-30), c2 = fmax(scalars[TOTAL], 1e-30);
#pragma unroll
    for (int c = 0; c < DIM; c++) {
        const i64 at = (i64)i * DIM + c;
        field[at] = (float)(
            sums[(i64)i * 2 * DIM + c] / c1 + (sums[(i64)i * 2 * DIM + DIM + c] + repulsion * force[at]) / c2
        );
    }
}
