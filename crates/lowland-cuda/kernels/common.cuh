// What all kernels share. Sums of many terms are in double precision and in a fixed order: no atomic operation on floats,
// so that the same card and driver give the same bytes in every run.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define FULL_WARP 0xffffffffu
#define THREADS 256

__device__ __forceinline__ float reciprocal(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

__device__ __forceinline__ double warp_sum(double v) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) v += __shfl_xor_sync(FULL_WARP, v, lane);
    return v;
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) v += __shfl_xor_sync(FULL_WARP, v, lane);
    return v;
}

// The sum over the threads of a block, valid in thread 0. Every thread of the block must call it.
__device__ __forceinline__ double block_sum(double v) {
    __shared__ double parts[32];
    __syncthreads();
    v = warp_sum(v);
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
    __syncthreads();
    double total = 0.0;
    if (threadIdx.x == 0) {
        for (int w = 0; w < (int)(blockDim.x >> 5); w++) total += parts[w];
    }
    return total;
}

// The maximum over the threads of a block, valid in thread 0.
__device__ __forceinline__ float block_max(float v) {
    __shared__ float parts[32];
    __syncthreads();
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL_WARP, v, lane));
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
    __syncthreads();
    float most = parts[0];
    if (threadIdx.x == 0) {
        for (int w = 1; w < (int)(blockDim.x >> 5); w++) most = fmaxf(most, parts[w]);
    }
    return most;
}

// Sorts `count` keys, a power of two, in ascending order, by one warp.
__device__ void sort_by_warp(u64* keys, int count) {
    const int lane = threadIdx.x & 31;
    for (int size = 2; size <= count; size <<= 1) {
        for (int gap = size >> 1; gap > 0; gap >>= 1) {
            __syncwarp();
            for (int at = lane; at < count / 2; at += 32) {
                const int i = 2 * gap * (at / gap) + at % gap, j = i + gap;
                const u64 a = keys[i], b = keys[j];
                if ((a > b) == ((i & size) == 0)) {
                    keys[i] = b;
                    keys[j] = a;
                }
            }
        }
    }
    __syncwarp();
}
