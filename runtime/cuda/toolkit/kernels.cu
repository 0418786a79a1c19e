// The launches of our own kernels.
#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/conv/depthwise_code.h"
#include "runtime/cuda/conv/direct_code.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = int64_t{1} << 30;

template <typename... Taken, typename... Given>
LaunchError Start(void (*kernel)(Taken...), dim3 blocks, dim3 threads, void* stream,
                  const Given&... given) {
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, given...);
  if (error == cudaSuccess) return nullptr;
  static_cast<void>(cudaGetLastError());  // or the next call would report it once more
  return cudaGetErrorString(error);
}

// Blocks for so many threads in a grid-stride loop.
unsigned Blocks(int64_t threads) {
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMaxBlocks));
}

template <typename Index>
__device__ Index FirstIndex() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}

#define ASHLAR_GRID_LOOP(i, count)                                                         \
  for (int64_t i = FirstIndex<int64_t>(), grid_step = int64_t{1} * gridDim.x * blockDim.x; \
       i < (count); i += grid_step)

template <typename Real>
__global__ void __launch_bounds__(kThreads) ChainKernel(const __grid_constant__ ChainParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ChainAt<Real>(p, i);
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kThreads) ChainPackKernel(const __grid_constant__ ChainParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ChainPackAt<T, kPack>(p, i);
}

template <typename Real>
__global__ void __launch_bounds__(kThreads) ConvertKernel(const __grid_constant__ ConvertParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ConvertAt<Real>(p, i);
}

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    ConvertPackKernel(const __grid_constant__ ConvertParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ConvertPackAt<From, To, 4>(p, i);
}

template <typename Word>
__global__ void __launch_bounds__(kThreads) CopyKernel(const __grid_constant__ CopyParams p) {
  ASHLAR_GRID_LOOP(i, p.most_elements) CopyAt<Word>(p, blockIdx.y, i);
}

template <typename From, typename To>
__global__ void __launch_bounds__(kTile* kTileRows)
    TransposeTilesKernel(const __grid_constant__ TransposeParams p, int64_t tiles) {
  __shared__ To tile[kTile][kTile + 1];
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const TileOrigin origin = OriginOf(p, t);
    ReadTile<From>(p, origin, threadIdx.x, threadIdx.y, tile);
    __syncthreads();
    WriteTile(p, origin, threadIdx.x, threadIdx.y, tile);
    __syncthreads();
  }
}

template <typename From, typename To>
__global__ void __launch_bounds__(kStrip)
    TransposeStripsKernel(const __grid_constant__ TransposeParams p, int64_t strips) {
  __shared__ To elements[kStripElements];
  for (int64_t s = blockIdx.x; s < strips; s += gridDim.x) {
    const Strip strip = StripOf(p, s);
    ReadStrip<From>(p, strip, threadIdx.x, elements);
    __syncthreads();
    WriteStrip(p, strip, threadIdx.x, elements);
    __syncthreads();
  }
}

__global__ void WriteKernel(const __grid_constant__ WriteParams p) {
  if (static_cast<int>(threadIdx.x) < p.count) WriteAt(p, threadIdx.x);
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kThreads) PoolKernel(const __grid_constant__ PoolParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) PoolAt<T, kPack>(p, i);
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kPoolThreads)
    PoolTeamKernel(const __grid_constant__ PoolParams p) {
  __shared__ float parts[kPack][kPoolThreads];
  const int thread = threadIdx.x;
  const PoolMember member = PoolMemberOf(p, thread);
  for (int64_t first = int64_t{1} * blockIdx.x * member.outputs; first < p.extents.elements;
       first += int64_t{1} * gridDim.x * member.outputs) {
    const bool inside = first + member.output < p.extents.elements;
    PoolWindow<T> window;
    float value[kPack] = {};
    if (inside) {
      window = PoolWindowOf<T, kPack>(p, first + member.output);
      PoolTaps<T, kPack>(p, window, member.rank, member.members, value);
    }
    for (int k = 0; k < kPack; ++k) parts[k][thread] = value[k];
    for (int distance = member.members / 2; distance > 0; distance /= 2) {
      __syncthreads();
      PoolJoin(p, member, thread, distance, parts);
    }
    if (inside && member.rank == 0) {
      for (int k = 0; k < kPack; ++k) value[k] = parts[k][thread];
      PoolStore<T, kPack>(p, window, value);
    }
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) LrnKernel(const __grid_constant__ LrnParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) LrnAt<T>(p, i);
}

__global__ void __launch_bounds__(kThreads)
    BatchNormKernel(const __grid_constant__ BatchNormParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) BatchNormAt(p, i);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DirectConvKernel(const __grid_constant__ DirectConvParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) DirectConvAt<T>(p, i);
}

template <typename T, int kPack, int kRun>
__global__ void __launch_bounds__(kThreads)
    DepthwiseKernel(const __grid_constant__ DepthwiseParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) DepthwiseAt<T, kPack, kRun>(p, i);
}

__global__ void __launch_bounds__(kThreads) MatrixKernel(const __grid_constant__ MatrixParams p) {
  ASHLAR_GRID_LOOP(i, p.batch.extents.elements * p.m * p.n) MatrixAt(p, i);
}

// The threads of a block. `shared` has a place for each warp; All is called by all threads.
template <typename Real>
struct Block {
  Real* shared;
  __device__ int rank() const { return threadIdx.x; }
  __device__ int size() const { return blockDim.x; }
  template <typename Combine>
  __device__ Real All(Real value, Combine combine) const {
    for (int distance = 16; distance > 0; distance /= 2) {
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    __syncthreads();  // the last call's values are read
    if (threadIdx.x % 32 == 0) shared[warp] = value;
    __syncthreads();
    value = shared[0];
    for (int w = 1; w < warps; ++w) value = combine(value, shared[w]);
    return value;
  }
};

template <typename Real>
__global__ void __launch_bounds__(kThreads) ReduceKernel(const __grid_constant__ ReduceParams p) {
  ASHLAR_GRID_LOOP(i, p.kept.extents.elements) ReduceAt<Real>(p, i, Alone());
}

template <typename Real>
__global__ void __launch_bounds__(kThreads)
    ReduceTeamKernel(const __grid_constant__ ReduceParams p) {
  __shared__ Real shared[kThreads / 32];
  for (int64_t i = blockIdx.x; i < p.kept.extents.elements; i += gridDim.x) {
    ReduceAt<Real>(p, i, Block<Real>{shared});
  }
}

template <typename From>
__global__ void __launch_bounds__(kThreads) SoftmaxKernel(const __grid_constant__ SoftmaxParams p) {
  __shared__ float shared[kThreads / 32];
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    SoftmaxAt<From>(p, row, Block<float>{shared});
  }
}

template <typename From>
__global__ void __launch_bounds__(kThreads)
    SoftmaxColumnKernel(const __grid_constant__ SoftmaxParams p) {
  ASHLAR_GRID_LOOP(row, p.rows) SoftmaxAt<From>(p, row, Alone());
}

bool IsReal(Scalar dtype) {
  return dtype == Scalar::kFloat32 || dtype == Scalar::kFloat16 || dtype == Scalar::kBFloat16;
}

// The call's result for a value of the type that stands for the dtype.
template <typename Call>
LaunchError WithReal(Scalar dtype, const Call& call) {
  if (dtype == Scalar::kFloat16) return call(Half());
  if (dtype == Scalar::kBFloat16) return call(BFloat16());
  return call(float());
}

template <typename T, int kPack>
LaunchError StartPool(const PoolParams& p, void* stream) {
  if (!p.by_team) {
    return Start(PoolKernel<T, kPack>, Blocks(p.extents.elements), kThreads, stream, p);
  }
  const int outputs = PoolMemberOf(p, 0).outputs;
  const int64_t blocks = (p.extents.elements + outputs - 1) / outputs;
  return Start(PoolTeamKernel<T, kPack>, static_cast<unsigned>(std::min(blocks, kMaxBlocks)),
               kPoolThreads, stream, p);
}

}  // namespace

LaunchError Launch(const ChainParams& p, void* stream) {
  const unsigned blocks = Blocks(p.walk.extents.elements);
  if (p.pack > 1) {
    return WithReal(p.dtype, [&](auto type) {
      using T = decltype(type);
      return Start(ChainPackKernel<T, 16 / sizeof(T)>, blocks, kThreads, stream, p);
    });
  }
  return Start(IsReal(p.dtype) ? ChainKernel<float> : ChainKernel<double>, blocks, kThreads, stream,
               p);
}

LaunchError Launch(const ConvertParams& p, void* stream) {
  auto* kernel = IsReal(p.from) && IsReal(p.to) ? ConvertKernel<float> : ConvertKernel<double>;
  if (p.pack > 1 && p.from == Scalar::kFloat32) {
    kernel = p.to == Scalar::kFloat16 ? ConvertPackKernel<float, Half>
                                      : ConvertPackKernel<float, BFloat16>;
  } else if (p.pack > 1) {
    kernel = p.from == Scalar::kFloat16 ? ConvertPackKernel<Half, float>
                                        : ConvertPackKernel<BFloat16, float>;
  }
  return Start(kernel, Blocks(p.walk.extents.elements), kThreads, stream, p);
}

LaunchError Launch(const CopyParams& p, void* stream) {
  auto* kernel = CopyKernel<uint4>;
  if (p.element == 1) kernel = CopyKernel<uint8_t>;
  if (p.element == 2) kernel = CopyKernel<uint16_t>;
  if (p.element == 4) kernel = CopyKernel<uint32_t>;
  if (p.element == 8) kernel = CopyKernel<uint64_t>;
  const dim3 grid(std::min(Blocks(p.most_elements), 1u << 20), static_cast<unsigned>(p.parts));
  return Start(kernel, grid, kThreads, stream, p);
}

LaunchError Launch(const TransposeParams& p, void* stream) {
  const auto start = [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    if (ByStrips(p)) {
      const int64_t strips = p.batch * StripsAcross(p);
      return Start(TransposeStripsKernel<From, To>,
                   static_cast<unsigned>(std::min(strips, kMaxBlocks)), kStrip, stream, p, strips);
    }
    const int64_t tiles = p.batch * TilesAcross(p.rows) * TilesAcross(p.columns);
    return Start(TransposeTilesKernel<From, To>, static_cast<unsigned>(std::min(tiles, kMaxBlocks)),
                 dim3(kTile, kTileRows), stream, p, tiles);
  };
  if (p.from != p.to) {
    if (p.from != Scalar::kFloat32) {
      return WithReal(p.from, [&](auto from) { return start(from, float()); });
    }
    return WithReal(p.to, [&](auto to) { return start(float(), to); });
  }
  const bool wide = p.to != Scalar::kFloat16 && p.to != Scalar::kBFloat16;
  return wide ? start(uint32_t(), uint32_t()) : start(uint16_t(), uint16_t());
}

LaunchError Launch(const WriteParams& p, void* stream) {
  return Start(WriteKernel, 1, kMaxRank, stream, p);
}

LaunchError Launch(const PoolParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    using T = decltype(type);
    if (p.pack == static_cast<int>(16 / sizeof(T))) return StartPool<T, 16 / sizeof(T)>(p, stream);
    if (p.pack == static_cast<int>(4 / sizeof(T))) return StartPool<T, 4 / sizeof(T)>(p, stream);
    return StartPool<T, 1>(p, stream);
  });
}

LaunchError Launch(const LrnParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(LrnKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

LaunchError Launch(const BatchNormParams& p, void* stream) {
  return Start(BatchNormKernel, Blocks(p.extents.elements), kThreads, stream, p);
}

LaunchError Launch(const DirectConvParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(DirectConvKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

LaunchError Launch(const DepthwiseParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    using T = decltype(type);
    constexpr int kMost = 16 / sizeof(T);
    auto* kernel = DepthwiseKernel<T, 1, 1>;
    if (p.pack > 1) {
      kernel = p.run > 1 ? DepthwiseKernel<T, kMost, kDepthwiseRun> : DepthwiseKernel<T, kMost, 1>;
    } else if (p.run > 1) {
      kernel = DepthwiseKernel<T, 1, kDepthwiseRun>;
    }
    return Start(kernel, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

LaunchError Launch(const ReduceParams& p, void* stream) {
  const bool real = IsReal(p.from) && IsReal(p.to);
  const int64_t results = p.kept.extents.elements;
  if (p.by_team) {
    return Start(real ? ReduceTeamKernel<float> : ReduceTeamKernel<double>,
                 static_cast<unsigned>(std::min(results, kMaxBlocks)), kThreads, stream, p);
  }
  return Start(real ? ReduceKernel<float> : ReduceKernel<double>, Blocks(results), kThreads, stream,
               p);
}

LaunchError Launch(const SoftmaxParams& p, void* stream) {
  return WithReal(p.from, [&](auto type) {
    using From = decltype(type);
    if (p.step > 1) {
      return Start(SoftmaxColumnKernel<From>, Blocks(p.rows), kThreads, stream, p);
    }
    return Start(SoftmaxKernel<From>, static_cast<unsigned>(std::min(p.rows, kMaxBlocks)), kThreads,
                 stream, p);
  });
}

LaunchError Launch(const MatrixParams& p, void* stream) {
  return Start(MatrixKernel, Blocks(p.batch.extents.elements * p.m * p.n), kThreads, stream, p);
}

LaunchError CopyBytes(void* to, const void* from, int64_t bytes, void* stream) {
  const cudaError_t error =
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice,
                      static_cast<cudaStream_t>(stream));
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace ashlar::cuda
