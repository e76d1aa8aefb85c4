// Kernel sums of a map in the plane on a grid: unit charges are spread over the nodes by B-splines of order 6, the grid is
// convolved with the derivative of the kernel by fast Fourier transforms, and the forces are read by the same splines. The
// spectra are divided by that of the splines, so that a kernel is exact between two nodes.
//
// Charges are added as integers, whose sum does not depend on the order. The transforms leave their results in bit-reversed
// order, which is undone by the transforms back.

#define ORDER 6
// Units of a charge: a node can hold 2^26 points.
#define CHARGE_UNITS 68719476736.0f  // 2^36

struct Frame {
    // Nodes per unit of the map, the coordinates of the first node, and the number of nodes of an axis.
    float per_unit;
    float first_x, first_y;
    int nodes_x, nodes_y;
};

// The weights of the nodes around a point, which is `u` beyond the first of them.
__device__ __forceinline__ void spline_weights(float u, float (&w)[ORDER]) {
    w[0] = 1.0f - u;
    w[1] = u;
#pragma unroll
    for (int k = 3; k <= ORDER; k++) {
        const float scale = 1.0f / (float)(k - 1);
        w[k - 1] = scale * u * w[k - 2];
#pragma unroll
        for (int l = 1; l <= k - 2; l++) {
            w[k - l - 1] = scale * ((u + (float)l) * w[k - l - 2] + ((float)(k - l) - u) * w[k - l - 1]);
        }
        w[0] = scale * (1.0f - u) * w[0];
    }
}

__device__ __forceinline__ int locate(float x, float per_unit, float first, int nodes, float& u) {
    const float at = (x - first) * per_unit;
    int node = (int)floorf(at);
    node = max(0, min(node, nodes - ORDER));
    u = at - (float)node;
    return node;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    spread(const float* y, int n, float unit, Frame frame, int width, u64* nodes) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    float ux, uy, wx[ORDER], wy[ORDER];
    const int x = locate(unit * y[2 * (i64)i], frame.per_unit, frame.first_x, frame.nodes_x, ux);
    const int row = locate(unit * y[2 * (i64)i + 1], frame.per_unit, frame.first_y, frame.nodes_y, uy);
    spline_weights(ux, wx);
    spline_weights(uy, wy);
#pragma unroll
    for (int a = 0; a < ORDER; a++) {
        const float scaled = wy[a] * CHARGE_UNITS;
#pragma unroll
        for (int b = 0; b < ORDER; b++) {
            const i64 charge = __float2ll_rn(scaled * wx[b]);
            atomicAdd(nodes + (i64)(row + a) * width + x + b, (u64)charge);
        }
    }
}

// The forces at the points.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const float* y, int n, float unit, Frame frame, int width, const float2* forces, float* out) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    float ux, uy, wx[ORDER], wy[ORDER];
    const int x = locate(unit * y[2 * (i64)i], frame.per_unit, frame.first_x, frame.nodes_x, ux);
    const int row = locate(unit * y[2 * (i64)i + 1], frame.per_unit, frame.first_y, frame.nodes_y, uy);
    spline_weights(ux, wx);
    spline_weights(uy, wy);
    float fx = 0.0f, fy = 0.0f;
#pragma unroll
    for (int a = 0; a < ORDER; a++) {
        const float2* line = forces + (i64)(row + a) * width + x;
        float sx = 0.0f, sy = 0.0f;
#pragma unroll
        for (int b = 0; b < ORDER; b++) {
            const float2 force = line[b];
            sx = fmaf(wx[b], force.x, sx);
            sy = fmaf(wx[b], force.y, sy);
        }
        fx = fmaf(wy[a], sx, fx);
        fy = fmaf(wy[a], sy, fy);
    }
    out[2 * (i64)i] = fx;
    out[2 * (i64)i + 1] = fy;
}

__device__ __forceinline__ float2 times(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// `a` times the conjugate of `b`.
__device__ __forceinline__ float2 times_conjugate(float2 a, float2 b) {
    return make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
}

__device__ __forceinline__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// Transforms `lines` sequences of `length` numbers in shared memory, each in place, to bit-reversed order. `stride` is the
// distance between entries of the table of roots of unity for this length.
__device__ void forward(float2* s, int lines, int length, const float2* roots, int stride) {
    int size = length;
    const int log = 31 - __clz(length);
    for (; size >= 4; size >>= 2) {
        const int quarter = size >> 2, step = stride * (length / size);
        __syncthreads();
        for (int at = threadIdx.x; at < lines * (length >> 2); at += blockDim.x) {
            const int line = at / (length >> 2), rest = at - line * (length >> 2);
            const int block = rest / quarter, k = rest - block * quarter;
            float2* p = s + line * length + block * size + k;
            const float2 w1 = roots[k * step], w2 = times(w1, w1);
            const float2 s0 = p[0], s1 = p[quarter], s2 = p[2 * quarter], s3 = p[3 * quarter];
            const float2 a0 = plus(s0, s2), a1 = plus(s1, s3), a2 = times(minus(s0, s2), w1);
            const float2 odd = times(minus(s1, s3), w1);
            const float2 a3 = make_float2(odd.y, -odd.x);
            p[0] = plus(a0, a1);
            p[quarter] = times(minus(a0, a1), w2);
            p[2 * quarter] = plus(a2, a3);
            p[3 * quarter] = times(minus(a2, a3), w2);
        }
    }
    __syncthreads();
    if (log & 1) {
        for (int at = threadIdx.x; at < lines * (length >> 1); at += blockDim.x) {
            float2* p = s + 2 * at;
            const float2 a = p[0], b = p[1];
            p[0] = plus(a, b);
            p[1] = minus(a, b);
        }
        __syncthreads();
    }
}

// The transform back, from bit-reversed order, times the length.
__device__ void backward(float2* s, int lines, int length, const float2* roots, int stride) {
    const int log = 31 - __clz(length);
    __syncthreads();
    if (log & 1) {
        for (int at = threadIdx.x; at < lines * (length >> 1); at += blockDim.x) {
            float2* p = s + 2 * at;
            const float2 a = p[0], b = p[1];
            p[0] = plus(a, b);
            p[1] = minus(a, b);
        }
        __syncthreads();
    }
    for (int size = log & 1 ? 8 : 4; size <= length; size <<= 2) {
        const int quarter = size >> 2, step = stride * (length / size);
        for (int at = threadIdx.x; at < lines * (length >> 2); at += blockDim.x) {
            const int line = at / (length >> 2), rest = at - line * (length >> 2);
            const int block = rest / quarter, k = rest - block * quarter;
            float2* p = s + line * length + block * size + k;
            const float2 w1 = roots[k * step], w2 = times(w1, w1);
            const float2 c0 = p[0], c1 = times_conjugate(p[quarter], w2);
            const float2 c2 = p[2 * quarter], c3 = times_conjugate(p[3 * quarter], w2);
            const float2 a0 = plus(c0, c1), a1 = minus(c0, c1);
            const float2 b2 = times_conjugate(plus(c2, c3), w1);
            const float2 odd = times_conjugate(minus(c2, c3), w1);
            const float2 b3 = make_float2(-odd.y, odd.x);
            p[0] = plus(a0, b2);
            p[2 * quarter] = minus(a0, b2);
            p[quarter] = plus(a1, b3);
            p[3 * quarter] = minus(a1, b3);
        }
        __syncthreads();
    }
}

// Transforms the rows of charges. Block: a row.
extern "C" __global__ void charge_rows(
    const u64* nodes, int width, int nodes_x, int period, const float2* roots, int stride, float2* out
) {
    extern __shared__ float2 s[];
    const u64* line = nodes + (i64)blockIdx.x * width;
    for (int x = threadIdx.x; x < period; x += blockDim.x) {
        s[x] = make_float2(x < nodes_x ? __ll2float_rn((i64)line[x]) / CHARGE_UNITS : 0.0f, 0.0f);
    }
    forward(s, 1, period, roots, stride);
    float2* target = out + (i64)blockIdx.x * period;
    for (int x = threadIdx.x; x < period; x += blockDim.x) target[x] = s[x];
}

// Transforms `lines` columns of a block, multiplies them with the spectrum of the force, and transforms them back. `sums` receives
// the part of the block in the sum of the kernel over all pairs, by Parseval's theorem.
extern "C" __global__ void convolve_columns(
    float2* data, int rows, int period_x, int period_y, int lines, const float2* roots, int stride, const float2* force,
    const float* value, double* sums
) {
    extern __shared__ float2 s[];
    const int first = blockIdx.x * lines;
    for (int at = threadIdx.x; at < lines * period_y; at += blockDim.x) {
        const int row = at / lines, line = at - row * lines;
        s[line * period_y + row] = row < rows ? data[(i64)row * period_x + first + line] : make_float2(0.0f, 0.0f);
    }
    forward(s, lines, period_y, roots, stride);
    double sum = 0.0;
    for (int at = threadIdx.x; at < lines * period_y; at += blockDim.x) {
        const float2 c = s[at];
        const i64 place = (i64)first * period_y + at;
        sum += (double)value[place] * ((double)c.x * (double)c.x + (double)c.y * (double)c.y);
        s[at] = times(c, force[place]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    backward(s, lines, period_y, roots, stride);
    for (int at = threadIdx.x; at < lines * rows; at += blockDim.x) {
        const int row = at / lines, line = at - row * lines;
        data[(i64)row * period_x + first + line] = s[line * period_y + row];
    }
}

// Transforms the rows back; `out` has the forces at the nodes.
extern "C" __global__ void force_rows(
    const float2* data, int period, const float2* roots, int stride, int width, int nodes_x, float2* out
) {
    extern __shared__ float2 s[];
    const float2* line = data + (i64)blockIdx.x * period;
    for (int x = threadIdx.x; x < period; x += blockDim.x) s[x] = line[x];
    backward(s, 1, period, roots, stride);
    float2* target = out + (i64)blockIdx.x * width;
    for (int x = threadIdx.x; x < nodes_x; x += blockDim.x) target[x] = s[x];
}

// The derivative of a kernel times the way, or its value, at a way of (x, y).
__device__ __forceinline__ float2 kernel_at(int kernel, float power, bool value, float x, float y) {
    const float squared = x * x + y * y;
    float v, slope;
    if (kernel == 0) {
        v = slope = expf(-squared);
    } else {
        const float p = kernel == 1 ? 1.0f : kernel == 2 ? 2.0f : power;
        v = powf(1.0f + squared, -p);
        slope = v / (1.0f + squared);
    }
    return value ? make_float2(v, 0.0f) : make_float2(slope * x, slope * y);
}

// Samples a kernel at the nodes of a row, for all ways around zero, and transforms the row. Block: a row of the period.
extern "C" __global__ void kernel_rows(
    int kernel, float power, int value, float spacing, int period_x, int period_y, const float2* roots, int stride, float2* out
) {
    extern __shared__ float2 s[];
    const int row = blockIdx.x, up = row < period_y - row ? row : row - period_y;
    for (int x = threadIdx.x; x < period_x; x += blockDim.x) {
        const int right = x < period_x - x ? x : x - period_x;
        float2 found = kernel_at(kernel, power, value != 0, spacing * right, spacing * up);
        // Half a period away the way has no direction.
        if (!value && 2 * x == period_x) found.x = 0.0f;
        if (!value && 2 * row == period_y) found.y = 0.0f;
        s[x] = found;
    }
    forward(s, 1, period_x, roots, stride);
    float2* target = out + (i64)row * period_x;
    for (int x = threadIdx.x; x < period_x; x += blockDim.x) target[x] = s[x];
}

// One over the squared spectrum of the splines, at the place of a number in bit-reversed order.
__device__ __forceinline__ float sharpening(int place, int period) {
    const int log = 31 - __clz(period);
    const u32 k = __brev((u32)place) >> (32 - log);
    const double symbol = (66.0 + 52.0 * cospi(2.0 * k / period) + 2.0 * cospi(4.0 * k / period)) / 120.0;
    return (float)(1.0 / (symbol * symbol));
}

// Transforms the columns of a kernel and divides them by the spectrum of the splines and by the number of nodes.
extern "C" __global__ void kernel_columns(
    const float2* data, int period_x, int period_y, int lines, const float2* roots, int stride, int value, float2* force,
    float* values
) {
    extern __shared__ float2 s[];
    const int first = blockIdx.x * lines;
    for (int at = threadIdx.x; at < lines * period_y; at += blockDim.x) {
        const int row = at / lines, line = at - row * lines;
        s[line * period_y + row] = data[(i64)row * period_x + first + line];
    }
    forward(s, lines, period_y, roots, stride);
    for (int at = threadIdx.x; at < lines * period_y; at += blockDim.x) {
        const int line = at / period_y, row = at - line * period_y;
        const float factor =
            sharpening(first + line, period_x) * sharpening(row, period_y) / ((float)period_x * (float)period_y);
        const i64 place = (i64)first * period_y + at;
        if (value) {
            values[place] = factor * s[at].x;
        } else {
            force[place] = make_float2(factor * s[at].x, factor * s[at].y);
        }
    }
}
